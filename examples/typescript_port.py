"""The TypeScript memory manager's examples in Python, in the order of its documentation.

Run it with ``python examples/typescript_port.py``. It needs no server and no model: the ledger is in memory.
"""

import asyncio

from ledger import InMemoryStore, MemoryLedger

#: The options of the manager, as they are. The small window makes the example short.
CONFIG = {
    "maxEntries": 100,
    "maxTokens": 50_000,
    "recentWindow": 2,
    "minEntriesToCompress": 3,
    "autoCompress": True,
    "compressionRatio": 0.3,
}


async def my_llm(prompt: str) -> str:
    """Stands for a call of your model."""
    return "The user asked for a list of files and got two."


async def main() -> None:
    """Add, compress, read, export and clear, as the manager does."""
    async with MemoryLedger.open(store=InMemoryStore(), config=CONFIG) as memory:
        # on: here a handler gets the session id first, too
        memory.on("entry:added", lambda session, entry: print("New entry:", entry.kind))
        memory.on("compressed", lambda session, result: print("Compressed, saved", result.tokens_saved, "tokens"))
        memory.on("session:cleared", lambda session: print("Session cleared:", session))

        # addUserMessage, addToolCall, addToolResult, addContext, addAssistantMessage
        session = "session-1"
        await memory.add_user_message(session, "Hello, which files are here? I would like the whole list, please. " * 3)
        await memory.add_tool_call(session, "shell", {"command": "ls -la"}, tool_call_id="call-1")
        await memory.add_tool_result(session, "shell", "file1.txt\nfile2.txt", tool_call_id="call-1")
        await memory.add_context(session, "const a = 1;", "src/main.ts")
        await memory.add_assistant_message(session, "There are two: file1.txt and file2.txt.")

        # setSummarizeCallback: None stands for all sessions
        memory.set_summarizer(None, my_llm)
        await memory.compress(session)

        # getContextForLLM, getStats
        print(await memory.get_context_for_llm(session))
        stats = await memory.get_stats(session)
        print(stats.total_entries, "entries,", stats.active_entries, "active,", stats.summaries, "summary")

        # updateConfig: here of one session
        await memory.update_config(session, {"maxTokens": 100_000})

        # exportSession, importSession: the same JSON
        state = await memory.export_session(session)
        await memory.import_session({**state, "sessionId": "restored-session"})
        print(len(await memory.get_active_entries("restored-session")), "active entries in the copy")

        # clearSession: the window is empty, the log is not
        await memory.clear_session(session)
        history = await memory.get_history(session)
        print(len(history.entries), "entries are still in the log")


if __name__ == "__main__":
    asyncio.run(main())
