"""mindspore.dataset.text: texts into words, and words into numbers by a vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.mindspore.absent import Absent


class PythonTokenizer:
    """Words of a text, by a function of one's own.

    >>> PythonTokenizer(str.split)("to and fro").tolist()
    ['to', 'and', 'fro']
    """

    def __init__(self, tokenizer: Callable[[str], Sequence[str]]) -> None:
        if not callable(tokenizer):
            raise TypeError("Argument tokenizer is not a callable Python function.")
        self.tokenizer = tokenizer

    def __call__(self, text: Any) -> np.ndarray:
        return np.array(self.tokenizer(str(np.asarray(text)[()])))


class WhitespaceTokenizer(PythonTokenizer):
    """Words of a text, between its spaces."""

    def __init__(self) -> None:
        super().__init__(str.split)


class Vocab:
    """Numbers for words.

    >>> vocab = Vocab.from_list(["a", "b"], special_tokens=["<unk>"])
    >>> vocab.tokens_to_ids(["b", "a", "c"]), vocab.ids_to_tokens(1)
    ([2, 1, -1], 'a')
    """

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    @classmethod
    def from_list(
        cls, word_list: Sequence[str], special_tokens: Sequence[str] | None = None, special_first: bool = True
    ) -> Vocab:
        """Words in the order of a list."""
        if len(set(word_list)) < len(word_list):
            raise ValueError("word_list contains duplicate word.")
        words = [str(w) for w in word_list]
        special = list(special_tokens or ())
        vocab = cls()
        vocab._ids = {w: i for i, w in enumerate(special + words if special_first else words + special)}
        return vocab

    @classmethod
    def from_dict(cls, word_dict: dict[str, int]) -> Vocab:
        """Words with their numbers."""
        vocab = cls()
        vocab._ids = dict(word_dict)
        return vocab

    @classmethod
    def from_dataset(
        cls,
        dataset: Any,
        columns: Any = None,
        freq_range: Any = None,
        top_k: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """The words of a dataset, the most frequent first."""
        names = [columns] if isinstance(columns, str) else columns or dataset.get_col_names()
        rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
        counts = Counter(str(w) for row in rows for name in names for w in np.ravel(row[name]))
        low, high = freq_range or (None, None)
        kept = [(w, n) for w, n in counts.items() if (low is None or n >= low) and (high is None or n <= high)]
        ordered = [w for w, _ in sorted(kept, key=lambda found: (-found[1], found[0]))]
        return cls.from_list(ordered[:top_k], special_tokens, special_first)

    def vocab(self) -> dict[str, int]:
        """The words with their numbers."""
        return dict(self._ids)

    def tokens_to_ids(self, tokens: Any) -> Any:
        """The number of a word, or those of several; -1 for one that is not there."""
        if isinstance(tokens, str):
            return self._ids.get(tokens, -1)
        return [self._ids.get(str(t), -1) for t in tokens]

    def ids_to_tokens(self, ids: Any) -> Any:
        """The word of a number, or those of several; an empty text for a number that is not there."""
        words = {i: w for w, i in self._ids.items()}
        return words.get(ids, "") if isinstance(ids, int) else [words.get(int(i), "") for i in ids]


class Lookup:
    """Words into their numbers; `unknown_token` stands for those that are not there."""

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = np.int32) -> None:
        if unknown_token is not None and unknown_token not in vocab.vocab():
            raise ValueError(f"unknown_token {unknown_token} doesn't exist in vocab.")
        self.ids, self.unknown, self.dtype = vocab.vocab(), unknown_token, np.dtype(data_type)

    def __call__(self, words: Any) -> np.ndarray:
        found = np.asarray(words)
        return np.array([self._id(str(w)) for w in found.ravel()], self.dtype).reshape(found.shape)

    def _id(self, word: str) -> int:
        if word not in self.ids and self.unknown is None:
            raise RuntimeError(f"Lookup: word '{word}' is not in the vocabulary, and there is no unknown_token.")
        return self.ids[word if word in self.ids else self.unknown]  # type: ignore[index]


def __getattr__(name: str) -> Any:
    if name[:1].isupper():
        return Absent(f"mindspore.dataset.text.{name}")
    raise AttributeError(f"module 'mindspore.dataset.text' has no attribute {name!r}")
