"""Fitted trees and ensembles in other forms, for people and programs."""

from marginwood.export.dictionary import from_dict, to_dict
from marginwood.export.graphviz import export_graphviz
from marginwood.export.latex import export_latex
from marginwood.export.onnx import to_onnx
from marginwood.export.rules import Condition, Rule, to_rules
from marginwood.export.shap import to_shap
from marginwood.export.sql import to_sql
from marginwood.export.text import export_text

__all__ = [
    "Condition",
    "Rule",
    "export_graphviz",
    "export_latex",
    "export_text",
    "from_dict",
    "to_dict",
    "to_onnx",
    "to_rules",
    "to_shap",
    "to_sql",
]
