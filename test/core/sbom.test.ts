import { expect, test } from "bun:test";
import packageJson from "../../package.json" with { type: "json" };
import { sbom } from "../../scripts/sbom.ts";

test("the list of packages has every one of production with its hash, and none of development", async () => {
  const { components, dependencies, metadata } = sbom(await Bun.file("bun.lock").text());
  const names = new Set(components.map(({ name }) => name));
  const versions = new Set(components.map(({ name, version }) => `${name}@${version}`));
  expect(metadata.component).toMatchObject({ name: "meterhouse", version: packageJson.version });
  for (const [name, version] of Object.entries(packageJson.dependencies))
    expect([name, version, versions.has(`${name}@${version}`)]).toEqual([name, version, true]);
  for (const name of ["knip", "fast-check", "oxlint"]) expect([name, names.has(name)]).toEqual([name, false]);
  expect(names.has(`@duckdb/node-bindings-${process.platform}-${process.arch}`)).toBe(true);
  expect(components.filter(({ name, hashes }) => name !== "bun" && hashes === undefined)).toEqual([]);
  const known = new Set(components.map((component) => component["bom-ref"]));
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !known.has(ref))).toEqual([]);
});
