"""Every public name is what it says, whatever was imported before."""

from __future__ import annotations

import pkgutil

import citespan


def test_no_module_has_the_name_of_a_function() -> None:
    """Importing a module binds its name in the package: `citespan.configure` would be a module, and not callable."""
    modules = {module.name for module in pkgutil.iter_modules(citespan.__path__)}
    assert modules.isdisjoint(citespan.__all__)


def test_every_public_name_is_there() -> None:
    """Loaded when first used."""
    assert all(getattr(citespan, name) is not None for name in citespan.__all__)
