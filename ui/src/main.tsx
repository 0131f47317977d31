import "./style.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { useState } from "preact/hooks";
import { address, correct, elsewhere, inFile, link, place, type Screen } from "./address";
import { BacktestsScreen } from "./backtests_screen";
import { Tour } from "./dialogs";
import { type Scheme, scheme } from "./preferences";
import { RecordsScreen } from "./records_screen";
import { SearchScreen } from "./search_screen";
import { SessionScreen } from "./session_screen";
import { SessionsScreen } from "./sessions_screen";
import { indexAge } from "./source";
import { greet, me, problem, session, source, version, watch } from "./session_store";

const SCREENS: [Screen, string][] = [
  ["sessions", "Sessions"],
  ["search", "Search"],
  ["records", "Memory"],
  ["backtests", "Backtests"],
];

function App() {
  const { screen } = place.value;
  const unknown = problem.value?.status === 401;
  const greeting = me.value === null && problem.value === null;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => focusMain(event)}>
        Skip to the content
      </a>
      <Bar />
      {problem.value && !unknown && (
        <p class="problem" role="alert">
          {problem.value.message}{" "}
          <button type="button" onClick={() => (problem.value = null)}>
            Close
          </button>
        </p>
      )}
      {indexAge.value && !unknown && screen !== "session" && (
        <p class="note" role="status">
          This may lack what is newest: {indexAge.value}.
        </p>
      )}
      {greeting ? (
        <main id="main">
          <p class="muted">Opening…</p>
        </main>
      ) : unknown || screen === "login" ? (
        <Login />
      ) : screen === "session" ? (
        <>
          <SessionScreen />
          {session.value && <Tour />}
        </>
      ) : screen === "search" ? (
        <SearchScreen />
      ) : screen === "records" ? (
        <RecordsScreen />
      ) : screen === "backtests" ? (
        <BacktestsScreen />
      ) : (
        <SessionsScreen />
      )}
    </>
  );
}

function focusMain(event: MouseEvent): void {
  event.preventDefault();
  const main = document.getElementById("main");
  main?.setAttribute("tabindex", "-1");
  main?.focus();
}

function Bar() {
  return (
    <nav class="top" aria-label="Main">
      <b class="brand">Memory Ledger</b>
      {!inFile &&
        SCREENS.map(([screen, name]) => {
          const to = elsewhere(screen);
          return (
            <a key={screen} href={address(to)} aria-current={place.value.screen === screen ? "page" : undefined} onClick={(event) => link(event, to)}>
              {name}
            </a>
          );
        })}
      <span class="spring" />
      {!inFile && <Namespace />}
      <label class="scheme">
        <span class="sr">Colours</span>
        <select value={scheme.value} onChange={(event) => (scheme.value = event.currentTarget.value as Scheme)}>
          <option value="system">system</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
      </label>
      {me.value && me.value.auth_mode !== "none" && !inFile && (
        <button type="button" class="quiet" onClick={() => void source.logout().then(() => location.reload())}>
          Log out
        </button>
      )}
    </nav>
  );
}

function Namespace() {
  const known = me.value?.namespaces;
  const now = place.value.ns ?? me.value?.home ?? "";
  const [text, setText] = useState<string | null>(null);
  const choose = (name: string) => correct({ ...elsewhere("sessions"), ns: name || null });
  if (known && known.length === 1) return <span class="muted">{known[0]}</span>;
  if (known) {
    return (
      <label>
        <span class="sr">Namespace</span>
        <select value={now} onChange={(event) => choose(event.currentTarget.value)}>
          {known.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <form
      class="namespace"
      onSubmit={(event) => {
        event.preventDefault();
        choose((text ?? now).trim());
      }}
    >
      <label>
        <span class="sr">Namespace</span>
        <input type="text" size={12} value={text ?? now} aria-label="Namespace" onInput={(event) => setText(event.currentTarget.value)} />
      </label>
    </form>
  );
}

function Login() {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  return (
    <main class="login" id="main">
      <h1>Log in</h1>
      <p>Paste a token of this service, or a JWT. The page only reads; a cookie keeps a signed permission for at most 12 hours, never the token.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          source.login({ token: token.trim() }).then(
            () => {
              setToken("");
              void greet();
              if (place.peek().screen === "login") correct(elsewhere("sessions"));
            },
            (fault) => setWrong(fault.message),
          );
        }}
      >
        <label>
          Token <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </label>{" "}
        <button type="submit" class="main" disabled={!token.trim()}>
          Log in
        </button>
        {wrong && (
          <p class="warn" role="alert">
            {wrong}
          </p>
        )}
      </form>
    </main>
  );
}

effect(() => {
  const name = session.value ? `${session.value.id} v${version.value}` : (SCREENS.find(([screen]) => screen === place.value.screen)?.[1] ?? "Log in");
  document.title = `${name} · Memory Ledger`;
});

async function start(): Promise<void> {
  // `memory-ledger view` opens an address whose fragment has a key that is good once
  const key = /^#key=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1];
  if (key && !inFile) correct({ typed: "" });
  render(<App />, document.getElementById("app") as HTMLElement);
  if (key && !inFile) await source.login({ key }).catch(() => {});
  await greet();
  watch();
}

void start();
