// The hash chain, recomputed in the browser from the exported lines: nothing of the service is believed.

export interface ChainVerdict {
  ok: boolean;
  checked: number;
  head: string;
  problem: string | null; // the first one
  version: number | null;
}

interface EventLine {
  position: number;
  stream_id: string;
  version: number;
  event_id: string;
  type: string;
  schema_version: number;
  codec: number;
  occurred_us: number;
  recorded_us: number;
  actor: string;
  hash: string;
  structure: string;
  content_digest?: string | null;
  content?: string | null;
  key_id?: string | null;
  key_commitment?: string | null;
}

const TAG = "mledger/event/2\n";
const URL_NAMESPACE = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
const utf8 = new TextEncoder();

/** Tells whether this page may compute hashes: browsers allow it on secure addresses and on loopback. */
export const canHash = globalThis.crypto?.subtle !== undefined;

function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

function unhex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

const uuid = (text: string) => unhex(text.replace(/-/g, ""));

function unbase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function digest(algorithm: "SHA-256" | "SHA-1", bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest(algorithm, bytes as BufferSource));
}

/** A UUID of version 5: the id that a name gives. */
export async function uuid5(space: string, name: string): Promise<string> {
  const found = (await digest("SHA-1", concat([uuid(space), utf8.encode(name)]))).slice(0, 16);
  found[6] = (found[6] & 0x0f) | 0x50;
  found[8] = (found[8] & 0x3f) | 0x80;
  const text = hex(found);
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
}

function concat(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function numbers(...fields: [2 | 4 | 8, number][]): Uint8Array {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, value] of fields) {
    if (size === 2) view.setInt16(at, value);
    else if (size === 4) view.setUint32(at, value);
    else view.setBigInt64(at, BigInt(value));
    at += size;
  }
  return new Uint8Array(view.buffer);
}

/** The bytes that are hashed, as the specification of the log has them. */
async function frame(line: EventLine, space: Uint8Array, previous: Uint8Array): Promise<Uint8Array> {
  const type = utf8.encode(line.type);
  const actor = utf8.encode(line.actor);
  return concat([
    utf8.encode(TAG),
    space,
    uuid(line.stream_id),
    numbers([8, line.version], [8, line.position]),
    uuid(line.event_id),
    numbers([4, type.length]),
    type,
    numbers([2, line.schema_version], [2, line.codec], [8, line.occurred_us], [8, line.recorded_us], [4, actor.length]),
    actor,
    line.key_id ? concat([new Uint8Array([1]), uuid(line.key_id)]) : new Uint8Array([0]),
    line.key_commitment ? unhex(line.key_commitment) : new Uint8Array(32),
    await digest("SHA-256", unbase64(line.structure)),
    line.content_digest ? unhex(line.content_digest) : new Uint8Array(32),
    previous,
  ]);
}

/** Recomputes every hash of an export file's lines, and stops at the first that does not fit. */
export async function recompute(
  lines: AsyncIterable<string>,
  progress: (checked: number) => void,
  signal: AbortSignal,
): Promise<ChainVerdict> {
  const heads = new Map<string, { version: number; hash: string }>();
  const hashes = new Map<string, string>(); // of the versions that forks go on from
  const forks = new Map<string, { parent: string; version: number }>();
  const all: string[] = [];
  let space = new Uint8Array(16);
  let checked = 0;
  let position = 0;
  let head = "";
  const wrong = (problem: string, version: number | null): ChainVerdict => ({ ok: false, checked, head, problem, version });

  for await (const text of lines) {
    if (signal.aborted) throw new DOMException("cancelled", "AbortError");
    let line: any;
    try {
      line = JSON.parse(text);
    } catch {
      return wrong(`line ${all.length + 1} is not JSON`, null);
    }
    if (line.format !== undefined) {
      all.push(text);
      space = uuid(await uuid5(URL_NAMESPACE, `mledger:${line.namespace}`)) as Uint8Array<ArrayBuffer>;
      for (const fork of line.forks ?? []) forks.set(fork[0] ?? fork.stream_id, { parent: fork[1] ?? fork.parent_id, version: fork[2] ?? fork.version });
      continue;
    }
    if (line.heads !== undefined) {
      const whole = hex(await digest("SHA-256", utf8.encode(all.join("\n") + "\n")));
      if (whole !== line.sha256 || line.events !== checked) return wrong("the last line does not match the lines before it", null);
      for (const end of line.heads) {
        const found = heads.get(end.stream_id);
        if (found?.version !== end.version || found?.hash !== end.hash) {
          return wrong("the last line names another end of the session", end.version);
        }
      }
      return { ok: true, checked, head, problem: null, version: null };
    }
    all.push(text);
    const event = line as EventLine;
    const known = heads.get(event.stream_id);
    let before = known ?? { version: 0, hash: "0".repeat(64) };
    const fork = known ? undefined : forks.get(event.stream_id);
    if (fork) {
      let owner = fork.parent;
      for (let up = forks.get(owner); up && fork.version <= up.version; up = forks.get(owner)) owner = up.parent;
      const hash = hashes.get(`${owner}@${fork.version}`);
      if (!hash) return wrong("the version that it was forked from is not in the file", fork.version);
      before = { version: fork.version, hash };
    }
    if (event.version !== before.version + 1) return wrong(`version ${before.version + 1} is missing`, before.version + 1);
    if (event.position <= position) return wrong(`position ${event.position} is out of order`, event.version);
    if (!event.content !== !event.content_digest) return wrong("the content of the event is missing", event.version);
    if (event.content && hex(await digest("SHA-256", unbase64(event.content))) !== event.content_digest) {
      return wrong("the content is not what was recorded", event.version);
    }
    const hash = hex(await digest("SHA-256", await frame(event, space, unhex(before.hash))));
    if (hash !== event.hash) return wrong("the event is not what was recorded", event.version);
    heads.set(event.stream_id, { version: event.version, hash });
    for (const each of forks.values()) if (each.version === event.version) hashes.set(`${event.stream_id}@${event.version}`, hash);
    position = event.position;
    head = hash;
    if (++checked % 200 === 0) progress(checked);
  }
  return wrong("the file ends before its last line", null);
}
