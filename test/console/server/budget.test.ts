import { expect, test } from "bun:test";
import { buildConsole } from "../../../src/console/server/build.ts";

// What a browser loads of the console, packed. A page that needs more than its share is the reason to look, not the budget.

const KB = 1_000;
const BUDGET = { first_load: 60 * KB, scripts: 150 * KB, styles: 15 * KB };

/** A script's imports that a browser loads with it; `import()` loads when it is called. */
const STATIC = /(?:\bfrom|\bimport)"\.\/([\w.-]+\.js)"/g;

test("its files keep to their budget of bytes", async () => {
  const { files, script, stylesheet } = await buildConsole();
  const sizeOf = (name: string) => files.get(name)?.gzipped.length ?? Number.NaN;
  const textOf = (name: string) =>
    new TextDecoder().decode(Bun.gunzipSync(files.get(name)?.gzipped ?? new Uint8Array()));
  const first = new Set([script]);
  // A set goes on with what is added to it meanwhile.
  for (const name of first)
    for (const [, imported = ""] of textOf(name).matchAll(STATIC)) first.add(imported);
  const sum = (names: Iterable<string>) => [...names].reduce((all, name) => all + sizeOf(name), 0);
  const named = (ending: string) => [...files.keys()].filter((name) => name.endsWith(ending));
  const sizes = {
    first_load: sum([...first, stylesheet]),
    scripts: sum(named(".js")),
    styles: sum(named(".css")),
  };
  const said = Object.entries(sizes).map(([name, size]) => `${name} ${(size / KB).toFixed(1)} KB`);
  console.log(`console, gzipped: ${said.join(", ")}, ${files.size} files`);
  expect(files.size).toBeGreaterThan(10);
  expect(first.size).toBeGreaterThan(1);
  expect(sizes.first_load).toBeLessThanOrEqual(BUDGET.first_load);
  expect(sizes.scripts).toBeLessThanOrEqual(BUDGET.scripts);
  expect(sizes.styles).toBeLessThanOrEqual(BUDGET.styles);
});
