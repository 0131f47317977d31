// Has anybody changed the log? The verdict of the service, and beside it the browser's own.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { go, inFile } from "./address";
import type { Verdict } from "./api";
import { canHash, type ChainVerdict, recompute } from "./chain";
import { columns, failed, session, source } from "./session_store";
import { save } from "./text";
import { count, plural } from "./words";

interface Run {
  session: string;
  stop: AbortController;
  service: { checked: number; total: number; verdict: Verdict | null; problem: string | null };
  browser: { checked: number; verdict: ChainVerdict | null; problem: string | null };
}

export const run = signal<Run | null>(null);

/** The word for the header: what the last check of this session said. */
export function verdictWord(): { word: string; ok: boolean | null } {
  const now = run.value;
  if (!now || now.session !== session.value?.id) return { word: "not checked", ok: null };
  const service = now.service.verdict;
  const browser = now.browser.verdict;
  if (browser && !browser.ok) return { word: "TAMPERED", ok: false };
  if (service) return { word: service.verdict, ok: service.findings.length === 0 };
  if (browser) return { word: "OK-CHAINED", ok: true };
  return { word: "checking…", ok: null };
}

function change(part: Partial<Run>): void {
  if (run.value) run.value = { ...run.value, ...part };
}

/** Starts both checks of the open session. */
export function check(): void {
  const key = session.peek();
  if (!key) return;
  run.peek()?.stop.abort();
  const stop = new AbortController();
  run.value = {
    session: key.id,
    stop,
    service: { checked: 0, total: columns.peek()?.newest ?? 0, verdict: null, problem: null },
    browser: { checked: 0, verdict: null, problem: null },
  };
  const still = () => run.peek()?.stop === stop;
  if (source.kind === "service") {
    source
      .verify(key, (checked, total) => still() && change({ service: { ...(run.peek() as Run).service, checked, total } }), stop.signal)
      .then(
        (verdict) => still() && change({ service: { ...(run.peek() as Run).service, verdict } }),
        (fault) => still() && change({ service: { ...(run.peek() as Run).service, problem: (fault as Error).message } }),
      );
  }
  if (!canHash) {
    change({
      browser: { checked: 0, verdict: null, problem: "This browser computes hashes only on https, on this machine, or from a file on disk." },
    });
    return;
  }
  recompute(source.lines(key, stop.signal), (checked) => still() && change({ browser: { checked, verdict: null, problem: null } }), stop.signal).then(
    (verdict) => still() && change({ browser: { checked: verdict.checked, verdict, problem: null } }),
    (fault) => still() && change({ browser: { checked: 0, verdict: null, problem: (fault as Error).message } }),
  );
}

export function ProofTab() {
  const key = session.value;
  const now = run.value?.session === key?.id ? run.value : null;
  useEffect(() => {
    if (inFile && run.peek()?.session !== key?.id) check();
  }, [key?.id]);
  if (!key) return null;
  const busy = now !== null && !((now.service.verdict || now.service.problem || source.kind === "file") && (now.browser.verdict || now.browser.problem));
  return (
    <section class="proof-tab" aria-label="Proof">
      <p class="actions">
        <button type="button" class="main" onClick={check} disabled={busy}>
          {now ? "Check again" : "Check the log"}
        </button>
        {busy && (
          <button type="button" onClick={() => now?.stop.abort()}>
            Cancel
          </button>
        )}
        <button type="button" onClick={() => void saveLines()}>
          Save the export (.jsonl)
        </button>
      </p>
      <div class="sides" aria-live="polite">
        {source.kind === "service" && (
          <section class="side" aria-label="The service">
            <h2>The service</h2>
            {now ? <ServiceVerdict now={now} /> : <p class="muted">Recomputes every hash, and replays the session against what reads answer.</p>}
          </section>
        )}
        <section class="side" aria-label="This browser">
          <h2>This browser</h2>
          {now ? <BrowserVerdict now={now} /> : <p class="muted">Recomputes every hash from the exported lines, without believing the service.</p>}
        </section>
      </div>
      <p class="note">
        A chain proves that nothing between the first and the last event was changed, removed or put in. It cannot prove that the last events were
        not cut off, or that all of it was not written anew, unless you hold a hash from outside, such as a receipt. It does not prove that what was
        recorded was true.
      </p>
    </section>
  );
}

function ServiceVerdict({ now }: { now: Run }) {
  const { checked, total, verdict, problem } = now.service;
  if (problem) return <p class="warn">{problem}</p>;
  if (!verdict) return <progress max={Math.max(1, total)} value={checked} aria-label="Events checked by the service" />;
  return (
    <>
      <p class={verdict.findings.length ? "badge bad" : "badge ok"}>{verdict.verdict}</p>
      <p>
        {plural(verdict.checked, "event")} checked. Newest hash: <code>{verdict.head.hash}</code>
      </p>
      <ul>
        {verdict.findings.map((each, index) => (
          <li key={index}>
            {each.version !== null && (
              <button type="button" class="link" onClick={() => go({ tab: "events", typed: `v${each.version}` })}>
                version {each.version}
              </button>
            )}{" "}
            {each.problem}
          </li>
        ))}
      </ul>
    </>
  );
}

function BrowserVerdict({ now }: { now: Run }) {
  const { checked, verdict, problem } = now.browser;
  const total = columns.value?.newest ?? 1;
  if (problem) return <p class="warn">{problem}</p>;
  if (!verdict) return <progress max={total} value={checked} aria-label="Events checked by the browser" />;
  if (verdict.ok) {
    return (
      <>
        <p class="badge ok">OK-CHAINED</p>
        <p>
          {plural(verdict.checked, "event")} checked. Newest hash: <code>{verdict.head}</code>
        </p>
      </>
    );
  }
  return (
    <>
      <p class="badge bad">TAMPERED</p>
      <p>
        {verdict.version !== null && (
          <button type="button" class="link" onClick={() => go({ tab: "events", typed: `v${verdict.version}` })}>
            version {count(verdict.version)}
          </button>
        )}{" "}
        {verdict.problem}
      </p>
    </>
  );
}

async function saveLines(): Promise<void> {
  const key = session.peek();
  if (!key) return;
  try {
    const parts: string[] = [];
    for await (const line of source.lines(key, new AbortController().signal)) parts.push(`${line}\n`);
    save(`${key.id}.jsonl`, parts);
  } catch (fault) {
    failed(fault);
  }
}
