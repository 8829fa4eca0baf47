"""An array library that behaves as CuPy does, in memory: what is not asked for by name never becomes an array of NumPy.

`DeviceArray` refuses implicit conversion, NumPy's functions and operations with arrays of NumPy.
`copies` counts what is brought to the device (``up``) and from there (``down``). `Emulator` stands
for XGBoost: its matrices and boosters take arrays of the device, and its predictions from them lie
there.
"""

import sys
import types
from collections import Counter

import numpy as np

from marginwood.xgb import _arrays

copies = Counter()
LIBRARY = "tests_device_arrays"
_arrays.LIBRARIES.add(LIBRARY)


class DeviceArray:
    """The part of CuPy's array that is used; the values are those of an array of NumPy."""

    __array_ufunc__ = None  # np.maximum(array) is a TypeError

    def __init__(self, values):
        self._values = np.asarray(values)

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    @property
    def __cuda_array_interface__(self):
        raise AssertionError("only XGBoost may read the memory of the device")

    def get(self):
        copies["down"] += 1
        return self._values.copy()

    device = types.SimpleNamespace(id=0)
    shape = property(lambda self: self._values.shape)
    ndim = property(lambda self: self._values.ndim)
    dtype = property(lambda self: self._values.dtype)

    def reshape(self, *shape):
        return DeviceArray(self._values.reshape(*shape))

    def __len__(self):
        return len(self._values)

    def __getitem__(self, index):
        return DeviceArray(self._values[_unwrap(index)])

    def __float__(self):
        return float(self._values)

    def __bool__(self):
        return bool(self._values)

    def astype(self, dtype, copy=True):
        return DeviceArray(self._values.astype(dtype, copy=copy))


def _unwrap(value):
    """The values of an operand; an array of NumPy is no operand here."""
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return value._values if isinstance(value, DeviceArray) else value


def _method(name):
    def method(self, *args, **kwargs):
        return DeviceArray(getattr(self._values, name)(*map(_unwrap, args), **kwargs))

    return method


OPERATORS = ("add", "sub", "mul", "truediv", "pow", "and", "or", "lt", "le", "gt", "ge", "eq", "ne")
for name in [
    f"__{operator}__" for operator in (*OPERATORS, "radd", "rsub", "rmul", "rtruediv", "invert")
]:
    setattr(DeviceArray, name, _method(name))
for name in ("clip", "all", "any", "sum", "dot"):
    setattr(DeviceArray, name, _method(name))


def asarray(values, dtype=None):
    if isinstance(values, DeviceArray):
        return values if dtype is None else values.astype(dtype, copy=False)
    copies["up"] += 1
    return DeviceArray(np.array(values, dtype=dtype))


def _function(name):
    return lambda *args, **kwargs: DeviceArray(getattr(np, name)(*map(_unwrap, args), **kwargs))


library = types.ModuleType(LIBRARY)
library.asarray = asarray
library.stack = lambda arrays, axis: DeviceArray(
    np.stack([_unwrap(array) for array in arrays], axis)
)
for name in ("maximum", "isfinite", "ones", "ones_like", "full", "ascontiguousarray"):
    setattr(library, name, _function(name))
DeviceArray.__module__ = LIBRARY
sys.modules[LIBRARY] = library


class DeviceFrame:
    """The part of cuDF's frame that is used."""

    def __init__(self, columns):
        self.columns = list(columns)
        self._columns = {
            name: np.asarray(values, dtype=np.float64) for name, values in columns.items()
        }
        self.shape = (len(next(iter(self._columns.values()))), len(columns))

    def to_cupy(self, dtype, na_value):
        assert np.isnan(na_value)
        return DeviceArray(np.column_stack(list(self._columns.values())).astype(dtype))

    def to_numpy(self):
        copies["down"] += 1
        return np.column_stack(list(self._columns.values()))


DeviceFrame.__module__ = "cudf.core.dataframe"


class Emulator:
    """XGBoost on this machine's processor, with arrays of the device."""

    def __init__(self, xgboost, *, may_copy=False):
        self._xgboost = xgboost
        self._may_copy = may_copy
        self.config_context = xgboost.config_context

    def _matrix(self, kind, X, **options):
        options = {name: getattr(value, "_values", value) for name, value in options.items()}
        return kind(getattr(X, "_values", X), **options)

    def DMatrix(self, X, **options):  # noqa: N802 (XGBoost's name)
        return self._matrix(self._xgboost.DMatrix, X, **options)

    def QuantileDMatrix(self, X, **options):  # noqa: N802
        return self._matrix(self._xgboost.QuantileDMatrix, X, **options)

    def Booster(self, params, known):  # noqa: N802
        return EmulatedBooster(
            self._xgboost.Booster(params | {"device": "cpu"}, known), may_copy=self._may_copy
        )


class EmulatedBooster:
    """A booster to which nothing but arrays of the device may be given."""

    def __init__(self, booster, *, may_copy):
        self._booster = booster
        self._may_copy = may_copy

    def boost(self, matrix, number, *, grad, hess):
        assert grad.dtype == hess.dtype == np.float32
        self._booster.boost(matrix, number, grad=grad._values, hess=hess._values)

    def inplace_predict(self, X, *, base_margin=None, **options):
        if base_margin is not None:
            options["base_margin"] = base_margin._values
        return DeviceArray(self._booster.inplace_predict(X._values, **options))

    def predict(self, *args, **options):
        assert self._may_copy, "Booster.predict copies predictions to memory"
        return self._booster.predict(*args, **options)

    def set_param(self, params):
        self._booster.set_param({name: value for name, value in params.items() if name != "device"})

    def __getitem__(self, rounds):
        return EmulatedBooster(self._booster[rounds], may_copy=self._may_copy)

    def reset(self):
        self._booster.reset()
        return self

    def __getattr__(self, name):
        return getattr(self._booster, name)
