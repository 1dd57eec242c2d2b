// `bun run sbom` prints what is in the executable and the image, as CycloneDX 1.6: the runtime and every package that
// production needs on this machine, from bun.lock. BuildKit adds the base of the image.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };

const ROOT = join(import.meta.dir, "..");

/** A package in bun.lock: `name@version`, the registry, what it needs, the hash of its archive. */
type Locked = [string, string, Needs, string];
interface Needs {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  /** Those of its peers that it works without. */
  optionalPeers?: string[];
  os?: string | string[];
  cpu?: string | string[];
  libc?: string | string[];
}

interface Component {
  type: "library" | "application";
  "bom-ref": string;
  name: string;
  version: string;
  purl: string;
  hashes?: { alg: "SHA-512"; content: string }[];
  licenses?: { expression: string }[];
}

/** A CycloneDX document. */
interface Sbom {
  bomFormat: "CycloneDX";
  specVersion: "1.6";
  version: 1;
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const purl = (name: string, version: string) => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/** Where a package finds another: below itself first, then below what it is in, last at the top. */
function resolve(packages: Record<string, Locked>, from: string, name: string): string | undefined {
  for (
    let place = from;
    place !== "";
    place = place.includes("/") ? place.slice(0, place.lastIndexOf("/")) : ""
  ) {
    if (`${place}/${name}` in packages) return `${place}/${name}`;
  }
  return name in packages ? name : undefined;
}

/** Whether a package is for this machine: what is for another is in the lock, but not installed. */
function isHere({ os = process.platform, cpu = process.arch, libc = "glibc" }: Needs): boolean {
  return (
    [os].flat().includes(process.platform) &&
    [cpu].flat().includes(process.arch) &&
    [libc].flat().includes("glibc")
  );
}

function component(key: string, [named, , , integrity]: Locked): Component {
  const at = named.lastIndexOf("@");
  const [name, version] = [named.slice(0, at), named.slice(at + 1)];
  const manifest = join(ROOT, "node_modules", name, "package.json");
  const { license } = existsSync(manifest)
    ? JSON.parse(readFileSync(manifest, "utf8"))
    : { license: undefined };
  const content = Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
  return {
    type: "library",
    "bom-ref": key,
    name,
    version,
    purl: purl(name, version),
    ...(integrity.startsWith("sha512-") ? { hashes: [{ alg: "SHA-512" as const, content }] } : {}),
    ...(typeof license === "string" ? { licenses: [{ expression: license }] } : {}),
  };
}

/** What production needs, by bun.lock. */
export function sbom(lock: string): Sbom {
  const { packages } = Bun.JSONC.parse(lock) as { packages: Record<string, Locked> };
  const needed = new Map<string, string[]>();
  const visit = (key: string): void => {
    const locked = packages[key];
    if (locked === undefined || needed.has(key)) return;
    const { dependencies, optionalDependencies, peerDependencies, optionalPeers = [] } = locked[2];
    const peers = Object.keys(peerDependencies ?? {}).filter((name) => !optionalPeers.includes(name));
    const names = [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
    const found = names.map((name) => resolve(packages, key, name)).filter((to) => to !== undefined);
    const here = found.filter((to) => isHere(packages[to]?.[2] ?? {}));
    needed.set(key, here);
    here.forEach(visit);
  };
  const direct = Object.keys(packageJson.dependencies);
  direct.forEach(visit);
  const { name, version, license } = packageJson;
  const self: Component = {
    type: "application",
    "bom-ref": name,
    name,
    version,
    purl: `pkg:generic/${name}@${version}`,
    licenses: [{ expression: license }],
  };
  const bun: Component = {
    type: "application",
    "bom-ref": "bun",
    name: "bun",
    version: Bun.version,
    purl: `pkg:github/oven-sh/bun@bun-v${Bun.version}`,
    licenses: [{ expression: "MIT" }],
  };
  const keys = [...needed.keys()].toSorted();
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: self },
    components: [bun, ...keys.map((key) => component(key, packages[key] as Locked))],
    dependencies: [
      { ref: name, dependsOn: ["bun", ...direct.toSorted()] },
      ...keys.map((key) => ({ ref: key, dependsOn: (needed.get(key) ?? []).toSorted() })),
    ],
  };
}

if (import.meta.main)
  console.log(JSON.stringify(sbom(readFileSync(join(ROOT, "bun.lock"), "utf8")), null, 2));
