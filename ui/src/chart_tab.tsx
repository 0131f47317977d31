// Tokens over versions, large, and the same as a table.
import { go } from "./address";
import { sizeOf } from "./columns";
import { TokenLane } from "./lanes";
import { calls, columns, tick, version } from "./session_store";
import { count } from "./words";

const MOST = 400;

export function ChartTab() {
  tick.value;
  const known = columns.value;
  if (!known) return null;
  const kept = known.kept();
  const all = calls.value;
  const step = Math.max(1, Math.ceil(all.length / MOST));
  const rows = all.filter((_, index) => index % step === 0 || index === all.length - 1);
  return (
    <section class="chart-tab" aria-label="Chart">
      <TokenLane high={220} />
      <p class="legend">
        <span class="key kept">kept: active entries and summaries</span>
        <span class="key seen">shown to the model</span>
        <span class="key limit">limit</span>
      </p>
      {known.turns.length > 1000 && <p class="note">The session is long: windows are read at some of its model calls.</p>}
      {step > 1 && <p class="note">The table has every {step}th of {count(all.length)} model calls.</p>}
      <div class="scroll" tabIndex={0} role="group" aria-label="Model calls">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">version</th>
              <th scope="col">turn</th>
              <th scope="col">tokens kept</th>
              <th scope="col">tokens shown</th>
              <th scope="col">limit</th>
              <th scope="col">entries shown</th>
              <th scope="col">not shown</th>
              <th scope="col">summaries</th>
              <th scope="col">recorded</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((each) => (
              <tr key={each.version} class={each.version === version.value ? "now" : ""}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => go({ v: each.version })}>
                    {each.version}
                  </button>
                </th>
                <td>{each.turn ?? ""}</td>
                <td>{count(kept[each.version] ?? 0)}</td>
                <td>{count(each.tokens)}</td>
                <td>{each.limit === null ? "none" : count(each.limit)}</td>
                <td>{count(sizeOf(each.shown))}</td>
                <td>{count(each.hidden)}</td>
                <td>{each.summaries.length}</td>
                <td>{each.recorded ? "yes" : "no"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {all.length === 0 && <p class="empty">No model was called yet: there is no answer in this session.</p>}
    </section>
  );
}
