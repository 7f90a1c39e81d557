"""A call that fails leaves its object as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(method: Method) -> Method:
    """A method after whose errors, Ctrl-C among them, all attributes of its object are those from before the call.

    For methods that set attributes to new values, and change none in place.
    """

    @wraps(method)
    def guarded(self: object, *arguments: object, **keywords: object) -> object:
        before = dict(vars(self))
        try:
            return method(self, *arguments, **keywords)
        except BaseException:
            for name in vars(self).keys() - before.keys():
                del vars(self)[name]
            vars(self).update(before)
            raise

    return cast(Method, guarded)
