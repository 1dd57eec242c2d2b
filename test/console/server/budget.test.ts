import { expect, test } from "bun:test";
import { buildConsole, type ConsoleBuild, importsOf } from "../../../src/console/server/build.ts";

// What a browser loads of the console, packed. A page that needs more than its share is the reason to look, not the budget.

const KB = 1_000;
const BUDGET = { first_load: 40 * KB, overview: 50 * KB, scripts: 150 * KB, styles: 15 * KB };

const textOf = (files: ConsoleBuild["files"], name: string) =>
  new TextDecoder().decode(Bun.gunzipSync(files.get(name)?.gzipped ?? new Uint8Array()));

test("its files keep to their budget of bytes", async () => {
  const { files, script, stylesheet, imports } = await buildConsole();
  const sizeOf = (name: string) => files.get(name)?.gzipped.length ?? Number.NaN;
  const sum = (names: Iterable<string>) => [...names].reduce((all, name) => all + sizeOf(name), 0);
  const named = (ending: string) => [...files.keys()].filter((name) => name.endsWith(ending));
  const first_load = [script, ...imports, stylesheet];
  const areaOf = (page: string) => {
    const area = named(".js").find((name) =>
      new RegExp(`export\\{[^}]*\\b${page}\\b`).test(textOf(files, name)),
    );
    if (area === undefined) throw new Error(`No area has ${page}`);
    return area;
  };
  const overview = areaOf("OverviewPage");
  const sizes = {
    first_load: sum(first_load),
    // What somebody who signs in loads before there is anything to read.
    overview: sum(new Set([...first_load, overview, ...importsOf(overview, files)])),
    scripts: sum(named(".js")),
    styles: sum(named(".css")),
  };
  const said = Object.entries(sizes).map(([name, size]) => `${name} ${(size / KB).toFixed(1)} KB`);
  console.log(`console, gzipped: ${said.join(", ")}, ${files.size} files`);
  expect(files.size).toBeGreaterThan(10);
  expect(imports.length).toBeGreaterThan(0);
  expect(sizes.first_load).toBeLessThanOrEqual(BUDGET.first_load);
  expect(sizes.overview).toBeLessThanOrEqual(BUDGET.overview);
  expect(sizes.overview).toBeGreaterThan(sizes.first_load);
  expect(sizes.scripts).toBeLessThanOrEqual(BUDGET.scripts);
  expect(sizes.styles).toBeLessThanOrEqual(BUDGET.styles);
});
