// Builds one classic script and one stylesheet, readable, into the package; `--check` compares instead of writing.
import { readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const OUT = new URL("../ledger/server/ui/", import.meta.url);
const BANNER = "Memory Ledger viewer. Made from ui/ by `make ui`; do not edit.";

const made = await build({
  entryPoints: { viewer: new URL("src/main.tsx", import.meta.url).pathname },
  bundle: true,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "inline",
  banner: { js: `// ${BANNER}`, css: `/* ${BANNER} */` },
  outdir: OUT.pathname,
  write: false,
});

let wrong = 0;
let zipped = 0;
for (const file of made.outputFiles) {
  const name = file.path.split("/").pop();
  zipped += gzipSync(file.contents, { level: 9 }).length;
  if (process.argv.includes("--check")) {
    const committed = await readFile(new URL(name, OUT)).catch(() => Buffer.alloc(0));
    if (!committed.equals(file.contents)) {
      console.error(`ledger/server/ui/${name} is not what ui/ makes: run \`make ui\` and commit it`);
      wrong = 1;
    }
  } else {
    await writeFile(new URL(name, OUT), file.contents);
    console.log(`${name}: ${file.contents.length} bytes`);
  }
}
console.log(`together ${zipped} bytes with gzip`);
process.exit(wrong);
