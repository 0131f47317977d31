// Help with all keys, "go to", and the tour for a first visit.
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { boundKeys, keysOn, switchKeys } from "./keys";
import { againTour, endTour, toured } from "./preferences";

/** The dialog that is open. */
export const asked = signal<"help" | "go" | null>(null);

const WORDS: [string, string][] = [
  ["window", "The entries and summaries that the model is shown."],
  ["version", "The place of an event in its session, and the state after that event."],
  ["turn", "A user entry and everything up to the next user entry; also called interaction."],
  ["compaction", "Entries leave the window, usually for a summary. The log keeps them all."],
  ["summary", "Text that stands for a range of entries and is linked to them."],
  ["strategy", "A rule that chooses the window, or plans a compaction."],
  ["raster", "Versions across, entries down: each dot says where an entry was at a version."],
  ["proved", "This context was recorded when it was handed over, and its digests are the same."],
];

export function Help({ goTo }: { goTo: (text: string) => string | null }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = asked.value;
  useLayoutEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} class="dialog" aria-label={open === "go" ? "Go to" : "Help"} onClose={() => (asked.value = null)}>
      {open === "go" && <GoTo goTo={goTo} />}
      {open === "help" && <Keys />}
    </dialog>
  );
}

function GoTo({ goTo }: { goTo: (text: string) => string | null }) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const problem = goTo(text);
        setWrong(problem);
        if (!problem) asked.value = null;
      }}
    >
      <label>
        Go to a version, a turn or a time
        <input autoFocus type="text" value={text} placeholder="120, t47, 2026-01-31 09:30" onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {wrong && (
        <p class="warn" role="alert">
          {wrong}
        </p>
      )}
      <p class="actions">
        <button type="submit" class="main">
          Go
        </button>
        <button type="button" onClick={() => (asked.value = null)}>
          Cancel
        </button>
      </p>
    </form>
  );
}

function Keys() {
  return (
    <>
      <h2>Keys</h2>
      <label>
        <input type="checkbox" checked={keysOn.value} onChange={(event) => switchKeys(event.currentTarget.checked)} /> use these keys
      </label>
      <dl class="keys">
        {boundKeys().map((each) => (
          <div key={each.does}>
            <dt>
              <kbd>{SIGNS[each.keys[0]] ?? each.keys[0]}</kbd>
            </dt>
            <dd>{each.does}</dd>
          </div>
        ))}
      </dl>
      <h2>Words</h2>
      <dl class="words">
        {WORDS.map(([word, means]) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{means}</dd>
          </div>
        ))}
      </dl>
      <p class="actions">
        <button type="button" class="main" autoFocus onClick={() => (asked.value = null)}>
          Close
        </button>
        <button
          type="button"
          onClick={() => {
            asked.value = null;
            againTour();
          }}
        >
          Show the tour
        </button>
      </p>
    </>
  );
}

const SIGNS: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

const STEPS: [string, string][] = [
  ["The slider is time", "Every change of this session is a version. Move the slider, or press ← and →, and the whole page shows the session as it was then."],
  ["The raster is the window", "Versions run across, entries down. Full colour: the model saw the entry. Stripes: it was left out. Dots: a summary stood for it."],
  ["A summary stands for entries", "At a compaction (a vertical line) old entries leave the window and a summary takes their place. The Window tab has the exact text that the model was shown."],
  ["Each row has a fate", "● in the window, ○ not shown, Σ behind a summary, − removed. Choose a row: the pane says why in one sentence, and what the entry reached."],
];

export function Tour() {
  const [at, setAt] = useState(0);
  if (toured.value) return null;
  const [title, text] = STEPS[at];
  return (
    <section class="tour" aria-label={`Tour, step ${at + 1} of ${STEPS.length}`} data-step={at}>
      <p class="muted">
        {at + 1} of {STEPS.length}
      </p>
      <h2>{title}</h2>
      <p>{text}</p>
      <p class="actions">
        {at > 0 && (
          <button type="button" onClick={() => setAt(at - 1)}>
            Back
          </button>
        )}
        <button
          type="button"
          class="main"
          onClick={() => {
            if (at < STEPS.length - 1) setAt(at + 1);
            else endTour();
          }}
        >
          {at < STEPS.length - 1 ? "Next" : "Done"}
        </button>
        <button type="button" class="quiet" onClick={endTour}>
          Close the tour
        </button>
      </p>
    </section>
  );
}
