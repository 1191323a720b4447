"""Cells in a row, in a list, by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from adjoint.core.errors import ArgumentError, ArgumentTypeError, IndexingError, called_at
from adjoint.nn.cell import Cell


class _Row(Cell):
    """Cells under the names 0, 1, 2, ..., or under names of their own."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, cell in args[0].items():
                setattr(self, name, self._checked(cell))
        else:
            self.extend(args)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(list(self._cells.values()))

    def _name(self, index: int) -> str:
        n = len(self._cells)
        if isinstance(index, bool) or not isinstance(index, int):
            raise ArgumentTypeError(f"{type(self).__name__}: an index must be an integer, not {index!r}")
        if not -n <= index < n:
            raise IndexingError(f"{type(self).__name__}: there is no Cell {index}, only {n} of them{called_at()}")
        return list(self._cells)[index]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._cells.items())[index]))
        return self._cells[self._name(index)]

    def __setitem__(self, index: int, cell: Cell) -> None:
        setattr(self, self._name(index), self._checked(cell))

    def __delitem__(self, index: Any) -> None:
        names = list(self._cells)[index] if isinstance(index, slice) else [self._name(index)]
        self._renew([(name, cell) for name, cell in self._cells.items() if name not in names])

    def append(self, cell: Cell) -> Any:
        """Add a Cell at the end."""
        setattr(self, str(len(self._cells)), self._checked(cell))
        return self

    def extend(self, cells: Iterable[Cell]) -> Any:
        """Add Cells at the end."""
        for cell in cells:
            self.append(cell)
        return self

    def __iadd__(self, cells: Iterable[Cell]) -> Any:
        return self.extend(cells)

    def insert(self, index: int, cell: Cell) -> None:
        """Put a Cell before another; those after it, and their Parameters, get new names."""
        n = len(self._cells)
        if not -n <= index <= n:
            raise IndexingError(f"{type(self).__name__}: no place {index} among {n} Cells{called_at()}")
        items: list[tuple[str, Cell]] = list(self._cells.items())
        items.insert(index, ("", self._checked(cell)))
        self._renew(items)

    def _renew(self, items: list[tuple[str, Cell]]) -> None:
        """These Cells, with their places for names; a name that is no number stays."""
        self._mark("cells")
        self._cells.clear()
        for k, (old, cell) in enumerate(items):
            new = old if old and not old.isdigit() else str(k)
            if old and cell._path == f"{self._path}{old}.":
                cell._move(f"{self._path}{new}.", cell._path)
            setattr(self, new, cell)

    def _checked(self, cell: Any) -> Cell:
        if not isinstance(cell, Cell):
            raise ArgumentTypeError(f"{type(self).__name__} holds Cells, not {type(cell).__name__}{called_at()}")
        return cell


class SequentialCell(_Row):
    """Cells called one after another: given as arguments, as a list, or as an OrderedDict with their names.

    >>> import adjoint as ad
    >>> net = ad.nn.SequentialCell(ad.nn.ReLU(), ad.nn.Flatten())
    >>> print(net(ad.Tensor([[[-1.0, 2.0]]])), len(net), net[:1])
    [[0. 2.]] 2 SequentialCell(
      (0): ReLU()
    )
    """

    def construct(self, x: Any) -> Any:
        for cell in self._cells.values():
            x = cell(x)
        return x


class CellList(_Row):
    """A list of Cells whose Parameters belong to the network; the network calls them itself.

    >>> import adjoint as ad
    >>> cells = ad.nn.CellList([ad.nn.Dense(2, 2) for _ in range(3)])
    >>> len(cells), [p.name for p in cells.trainable_params()][:2]
    (3, ['0.weight', '0.bias'])
    """

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a CellList cannot be called: call the Cells in it, or use SequentialCell")


class CellDict(Cell):
    """A dict of Cells whose Parameters belong to the network; the network calls them itself.

    >>> import adjoint as ad
    >>> cells = ad.nn.CellDict({"up": ad.nn.Dense(2, 4), "act": ad.nn.ReLU()})
    >>> list(cells), [p.name for p in cells.trainable_params()]
    (['up', 'act'], ['up.weight', 'up.bias'])
    """

    def __init__(self, cells: Any = None) -> None:
        super().__init__()
        self.update(cells or {})

    def __getitem__(self, key: str) -> Cell:
        return self._cells[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        if not isinstance(key, str):
            raise ArgumentTypeError(f"CellDict: a key must be a word, not {key!r}{called_at()}")
        if not key or "." in key:
            raise ArgumentError(f"CellDict: a key must be a word without a dot, not {key!r}{called_at()}")
        if not isinstance(cell, Cell):
            raise ArgumentTypeError(f"CellDict holds Cells, not {type(cell).__name__}{called_at()}")
        if key not in self._cells and hasattr(self, key):
            raise ArgumentError(f"CellDict: the key {key!r} is the name of an attribute{called_at()}")
        setattr(self, key, cell)

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._cells))

    def __len__(self) -> int:
        return len(self._cells)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._cells.keys()

    def values(self) -> Iterable[Cell]:
        """The Cells."""
        return self._cells.values()

    def items(self) -> Iterable[tuple[str, Cell]]:
        """The names with their Cells."""
        return self._cells.items()

    def pop(self, key: str) -> Cell:
        """Take a Cell out."""
        cell = self._cells[key]
        delattr(self, key)
        return cell

    def update(self, cells: Any) -> None:
        """Add the Cells of a dict, a CellDict, or of pairs."""
        for key, cell in cells.items() if hasattr(cells, "items") else cells:
            self[key] = cell

    def clear(self) -> None:
        """Take all Cells out."""
        for key in list(self._cells):
            delattr(self, key)

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a CellDict cannot be called: call the Cells in it")
