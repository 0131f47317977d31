"""Vectors by a model on this machine: an ONNX file and its tokenizer, without a network."""

import asyncio
import json
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ledger.errors import EmbedderFailed, Unavailable
from ledger.llm.embedders.model_folder import MISSING_EXTRA, ModelFolder, bundled_model, model_folder

if TYPE_CHECKING:
    import numpy as np
    from kitoken import Kitoken

    Vectors: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

_MOST_THREADS: Final = 4
_CHARACTERS_A_TOKEN: Final = 32  # a longer text is cut before it is split into tokens


class LocalEmbedder:
    """A `ports.models.QueryEmbedder` that runs on this machine's processor; needs the ``[local-embedder]`` extra.

    Without *folder* the model is all-MiniLM-L6-v2, which the extra installs: 384 dimensions, best for English. A
    *folder* has ``model.onnx`` and ``tokenizer.json``; the vector is the mean over the tokens, unless
    ``1_Pooling/config.json`` says that it is the first one's. Prefixes for queries and passages are the prompts in
    ``config_sentence_transformers.json``.

    A long text is cut at the number of tokens that the model was made for: 256, or the folder's
    ``sentence_bert_config.json``, at most 512. *threads* texts are embedded at a time, by default as many as half of
    the processors, at most 4. The model is loaded when it is first used.

    Raises:
        InvalidInput: a file of the folder is missing or cannot be read.
        Unavailable: the extra is not installed.
    """

    def __init__(self, folder: Path | str | None = None, *, threads: int | None = None) -> None:
        if find_spec("onnxruntime") is None or find_spec("kitoken") is None:
            raise Unavailable(MISSING_EXTRA)
        self._files = bundled_model() if folder is None else model_folder(Path(folder))
        self._threads = threads or max(1, min(_MOST_THREADS, (os.cpu_count() or 1) // 2))
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="embedder")
        self._loading = threading.Lock()

    @property
    def model(self) -> str:
        """The name of the model with a digest of its files; vectors of other files are not compared with its own."""
        return self._files.model

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector of length 1 for each text, in order; queries that come meanwhile are not kept waiting.

        Raises:
            EmbedderFailed: the model cannot be loaded, or does not return vectors.
        """
        vectors: list[list[float]] = []
        for first in range(0, len(texts), self._threads):
            some = texts[first : first + self._threads]
            vectors += await asyncio.gather(*(self._run(self._files.passage_prefix + text) for text in some))
        return vectors

    async def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query, of length 1; raises as `embed` does."""
        return await self._run(self._files.query_prefix + text)

    async def close(self) -> None:
        """Give the threads back."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _run(self, text: str) -> list[float]:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._vector, text)

    def _vector(self, text: str) -> list[float]:
        try:
            with self._loading:
                model = self._loaded
            return model.vector(text)
        except EmbedderFailed:
            raise
        except Exception as fault:  # onnxruntime has no root of its errors
            raise EmbedderFailed(f"the model {self._files.weights} failed: {_first_line(fault)}") from fault

    @cached_property
    def _loaded(self) -> "_Model":
        return _Model.load(self._files)


class _Model(NamedTuple):
    """A loaded model. One text at a time: a batch is no faster here, and in 8 bits it would change the vectors."""

    files: ModelFolder
    tokenizer: "Kitoken"
    session: Any
    inputs: frozenset[str]

    @classmethod
    def load(cls, files: ModelFolder) -> "_Model":
        import onnxruntime  # noqa: PLC0415 - an extra, and slow to load
        from kitoken import Kitoken  # noqa: PLC0415 - an extra

        plain = {**files.tokenizer, "padding": None, "truncation": None, "post_processor": None}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(files.weights, options, providers=["CPUExecutionProvider"])
        inputs = frozenset(each.name for each in session.get_inputs())
        return cls(files, Kitoken.from_tokenizers(json.dumps(plain).encode()), session, inputs)

    def vector(self, text: str) -> list[float]:
        import numpy as np  # noqa: PLC0415 - of the extra

        files = self.files
        room = files.most_tokens - len(files.before) - len(files.after)
        cut = text[: room * _CHARACTERS_A_TOKEN].encode(errors="replace").decode()
        ids = [*files.before, *self.tokenizer.encode(cut, False)[:room], *files.after]
        tokens = np.array([ids or [0]], np.int64)  # a model needs a token, even of an empty text
        given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        found = self.session.run(None, {name: given[name] for name in given.keys() & self.inputs})
        pooled = self._pooled(found)
        length = float(np.linalg.norm(pooled))
        if not np.isfinite(length):
            raise EmbedderFailed(f"the model {files.weights} returned no finite numbers")
        return [float(value) for value in pooled / (length or 1.0)]

    def _pooled(self, outputs: "Sequence[Vectors]") -> "Vectors":
        pooled = [output for output in outputs if output.ndim == 2 and len(output) == 1]  # by the model itself
        if pooled:
            return pooled[0][0, :]
        for output in outputs:
            if output.ndim == 3 and len(output) == 1 and output.shape[1]:
                return output[0, 0, :] if self.files.pooling == "cls" else output[0].mean(axis=0)
        shapes = ", ".join(str(output.shape) for output in outputs)
        raise EmbedderFailed(f"the model {self.files.weights} returned no vector for each token, but {shapes}")


def _first_line(fault: Exception) -> str:
    return str(fault).strip().partition("\n")[0][:300] or type(fault).__name__
