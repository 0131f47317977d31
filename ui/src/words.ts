// Numbers, times and fates in words.
import type { Fate } from "./columns";

const groups = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (number: number) => groups.format(number);

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function when(moment: number | string | null): string {
  if (moment === null) return "";
  const date = new Date(moment);
  return `${date.toISOString().slice(0, 10)} ${date.toISOString().slice(11, 19)} UTC`;
}

export const usd = (amount: number | null) => (amount === null ? "no price" : `$${amount.toFixed(amount < 0.01 ? 5 : 3)}`);

export const FATES: Record<Fate, { sign: string; name: string; means: string }> = {
  shown: { sign: "●", name: "in the window", means: "The model is shown it." },
  hidden: { sign: "○", name: "active, not shown", means: "It is in the session, but the window strategy leaves it out." },
  covered: { sign: "Σ", name: "behind a summary", means: "A compaction took it out of the window; a summary stands for it." },
  erased: { sign: "⌫", name: "erased from the window", means: "A compaction took it out of the window without a summary." },
  removed: { sign: "−", name: "removed", means: "Its writer took it out of the window." },
  cleared: { sign: "∅", name: "cleared", means: "The session was cleared." },
};

export function speaker(kind: string, role: string): { letter: string; name: string; part: string } {
  if (kind === "system_instruction" || role === "system") return { letter: "S", name: "system", part: "system" };
  if (kind === "tool_call") return { letter: "C", name: "tool call", part: "tool" };
  if (kind === "tool_result") return { letter: "T", name: "tool result", part: "tool" };
  if (kind === "context") return { letter: "K", name: "context", part: "tool" };
  if (role === "user") return { letter: "U", name: "user", part: "user" };
  if (role === "assistant") return { letter: "A", name: "assistant", part: "assistant" };
  return { letter: role.slice(0, 1).toUpperCase(), name: role, part: "tool" };
}
