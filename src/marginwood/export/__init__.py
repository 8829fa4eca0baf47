"""Fitted trees and ensembles in other forms, for people and programs."""

from marginwood.export._conditions import Condition, Rule, to_rules
from marginwood.export._dictionary import from_dict, to_dict
from marginwood.export._graphviz import export_graphviz
from marginwood.export._latex import export_latex
from marginwood.export._onnx import to_onnx
from marginwood.export._shap import to_codes, to_shap
from marginwood.export._sql import to_sql
from marginwood.export._text import export_text

__all__ = [
    "Condition",
    "Rule",
    "export_graphviz",
    "export_latex",
    "export_text",
    "from_dict",
    "to_codes",
    "to_dict",
    "to_onnx",
    "to_rules",
    "to_shap",
    "to_sql",
]
