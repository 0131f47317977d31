// Every method of the JavaScript client against a running service: what it sends is understood, and it can read the answer.
import { afterAll, expect, test } from "vitest";
import { MemoryAPIClient } from "./client";

const client = new MemoryAPIClient({ baseUrl: process.env.MEMORY_LEDGER_URL!, defaultNamespace: "javascript" });
const called = new Set<string>();
const used = new Proxy(client, {
  get(target, name) {
    called.add(String(name));
    const value = Reflect.get(target, name);
    return typeof value === "function" ? value.bind(target) : value;
  },
});
const fact = (id: string, text: string) => ({
  id, text, user_id: "mia", namespace: "javascript", memory_type: "semantic" as const,
});

test("health", async () => {
  expect((await used.healthCheck()).now).toBeGreaterThan(0);
});

test("a session is created, written, read, listed and deleted", async () => {
  const created = await used.getOrCreateWorkingMemory("trip", { userId: "mia" });
  expect(created.messages).toEqual([]);
  const put = await used.putWorkingMemory("trip", {
    ...created, user_id: "mia", messages: [{ role: "user", content: "Hello", id: "m1" }] as never,
  });
  expect(put.messages.map((message) => message.content)).toEqual(["Hello"]);
  const read = await used.getWorkingMemory("trip", { userId: "mia" } as never);
  expect(read?.messages.length).toBe(1);
  expect((await used.listSessions({ userId: "mia" })).sessions).toEqual(["trip"]);
  const prompt = await used.memoryPrompt({
    query: "What did I say?", session: { session_id: "trip", namespace: "javascript", user_id: "mia" },
  } as never);
  expect(prompt.messages.length).toBe(2);
  expect((await used.deleteWorkingMemory("trip", { userId: "mia" })).status).toBe("ok");
  expect(await used.getWorkingMemory("trip")).toBeNull();
});

test("records are created, found, edited, forgotten and deleted", async () => {
  used.validateMemoryRecord(fact("01ARZ3NDEKTSV4RRFFQ69G5FAV", "Mia lives in Oslo"));
  used.validateSearchFilters({ limit: 5 });
  expect((await used.createLongTermMemory([fact("a", "Mia lives in Oslo")])).status).toBe("ok");
  const batches = await used.bulkCreateLongTermMemories([[fact("b", "Mia likes tea"), fact("c", "Mia has a cat")]]);
  expect(batches.map((answer) => answer.status)).toEqual(["ok"]);
  const found = await used.searchLongTermMemory({ text: "Who lives in Oslo?", userId: { eq: "mia" } });
  expect(found.memories[0].id).toBe("a");
  const all: string[] = [];
  for await (const memory of used.searchAllLongTermMemories({ text: "Mia", batchSize: 2 })) all.push(memory.id);
  expect(all.sort()).toEqual(["a", "b", "c"]);
  expect((await used.editLongTermMemory("a", { text: "Mia lives in Bergen" })).text).toBe("Mia lives in Bergen");
  expect((await used.getLongTermMemory("a"))?.text).toBe("Mia lives in Bergen");
  expect(await used.getLongTermMemory("nothing")).toBeNull();
  const would = await used.forgetLongTermMemories({ policy: { max_age_days: 1 }, dryRun: true });
  expect(would.deleted).toBe(0);
  expect((await used.deleteLongTermMemories(["c"])).status).toBe("ok, deleted 1 memories");
});

test("summary views are defined, run and deleted", async () => {
  const view = await used.createSummaryView({
    name: "by user", source: "long_term", group_by: ["user_id"], filters: { namespace: "javascript" },
  } as never);
  expect((await used.getSummaryView(view.id))?.name).toBe("by user");
  expect((await used.listSummaryViews()).map((each) => each.id)).toContain(view.id);
  const mia = await used.runSummaryViewPartition(view.id, { user_id: "mia" });
  expect(mia.memory_count).toBe(2);
  let task = await used.runSummaryView(view.id, { force: true });
  for (let i = 0; i < 200 && !["success", "failed"].includes(task.status); i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    task = (await used.getTask(task.id))!;
  }
  expect(task.status).toBe("success");
  expect((await used.listSummaryViewPartitions(view.id, { userId: "mia" })).length).toBe(1);
  expect((await used.deleteSummaryView(view.id)).status).toBe("ok");
  expect(await used.getSummaryView(view.id)).toBeNull();
  expect(await used.getTask("nothing")).toBeNull();
  used.close();
}, 20000);

afterAll(() => {
  const internal = ["constructor", "getHeaders", "request", "handleHttpError", "isValidUlid", "sleep"];
  const methods = Object.getOwnPropertyNames(MemoryAPIClient.prototype).filter((name) => !internal.includes(name));
  expect(methods.filter((name) => !called.has(name))).toEqual([]);
});
