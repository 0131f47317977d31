// The family of the session: what it was forked from, and what was forked from it.
import { useState } from "preact/hooks";
import { address, elsewhere, link, place } from "./address";
import type { Difference, FamilyMember } from "./api";
import { Compared } from "./diff_tab";
import { useAnswer } from "./pane";
import { family, session, source } from "./session_store";

const same = (one: FamilyMember, id: string, user: string | null) => one.session_id === id && (one.user_id ?? null) === (user ?? null);

export function ForksTab() {
  const key = session.value;
  const found = family.value;
  const [other, setOther] = useState<FamilyMember | null>(null);
  if (!key) return null;
  if (!found) return <p class="muted">Looking for forks…</p>;
  const own = found.members.find((each) => same(each, key.id, key.user));
  if (found.members.length < 2) {
    return (
      <section aria-label="Forks">
        <p class="empty">
          This session was not forked, and is not a fork. <code>memory-ledger fork</code> starts another one from any version.
        </p>
      </section>
    );
  }
  const roots = found.members.filter((each) => !found.members.some((one) => one.session_id === each.parent));
  return (
    <section class="forks-tab" aria-label="Forks">
      {roots.map((each) => (
        <Branch key={each.session_id} member={each} all={found.members} compare={setOther} />
      ))}
      {other && own && <Compare own={own} other={other} all={found.members} />}
    </section>
  );
}

function Branch({ member, all, compare }: { member: FamilyMember; all: FamilyMember[]; compare: (other: FamilyMember) => void }) {
  const key = session.value;
  const here = key !== null && same(member, key.id, key.user);
  const to = elsewhere("session", { id: member.session_id, user: member.user_id, tab: "forks" });
  return (
    <ul class="tree">
      <li>
        {here ? (
          <b>{member.session_id}</b>
        ) : (
          <a href={address(to)} onClick={(event) => link(event, to)}>
            {member.session_id}
          </a>
        )}{" "}
        <span class="muted">
          {member.at_version !== null && `from v${member.at_version} · `}v{member.version} · {member.status}
        </span>{" "}
        {!here && (
          <button type="button" onClick={() => compare(member)}>
            Compare
          </button>
        )}
        {all
          .filter((each) => each.parent === member.session_id)
          .map((each) => (
            <Branch key={each.session_id} member={each} all={all} compare={compare} />
          ))}
      </li>
    </ul>
  );
}

/** The newest version that two members share. */
export function commonVersion(one: FamilyMember, other: FamilyMember, all: FamilyMember[]): number {
  const shared = new Map<string, number>();
  let until = one.version;
  for (let at: FamilyMember | undefined = one; at; at = all.find((each) => each.session_id === at?.parent)) {
    shared.set(at.session_id, until);
    until = Math.min(until, at.at_version ?? 0);
  }
  until = other.version;
  for (let at: FamilyMember | undefined = other; at; at = all.find((each) => each.session_id === at?.parent)) {
    const both = shared.get(at.session_id);
    if (both !== undefined) return Math.min(both, until);
    until = Math.min(until, at.at_version ?? 0);
  }
  return 0;
}

function Compare({ own, other, all }: { own: FamilyMember; other: FamilyMember; all: FamilyMember[] }) {
  const common = Math.max(1, commonVersion(own, other, all));
  return (
    <>
      <h2>Since version {common}, which both share</h2>
      <div class="sides">
        <Since member={own} common={common} />
        <Since member={other} common={common} />
      </div>
    </>
  );
}

function Since({ member, common }: { member: FamilyMember; common: number }) {
  const key = { ns: place.value.ns, user: member.user_id, id: member.session_id };
  const found = useAnswer<Difference>((stop) => source.diff(key, common, member.version, stop), [member.session_id, common]);
  return (
    <section class="side" aria-label={member.session_id}>
      <h2>{member.session_id}</h2>
      {found ? <Compared found={found} /> : <p class="muted">Comparing…</p>}
    </section>
  );
}
