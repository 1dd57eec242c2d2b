import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { BY_TURNS } from "../scripts/by_turns.ts";
import { ON_POSTGRES } from "../scripts/postgres_tests.ts";
import { SETTINGS } from "../src/core/config.ts";
import { columnKit } from "../src/store/columns.ts";
import { sqliteColumns } from "../src/store/columns.sqlite.ts";
import * as postgresSchema from "../src/server/schema.postgres.ts";
import * as sqliteSchema from "../src/server/schema.sqlite.ts";
import { defineTables } from "../src/server/schema.ts";

// The project's rules that no linter knows. See docs/style.md.

const ROOT = join(import.meta.dir, "..");
const FILE_LINES = 400;

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .filter((file) => !file.includes("/node_modules/"));
}

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const pages = ["*.md", "{docs,src,data}/**/*.md"].flatMap((glob) => [...new Bun.Glob(glob).scanSync(ROOT)]);
const sources = filesBelow("src");
const code = [...sources, ...filesBelow("test"), ...filesBelow("scripts"), ...filesBelow("bench")];

/**
 * The floors of src/, from the top down. Imports go down only; what stands on one line does not know each other.
 * Tables are imported too (`q.use(clientTable)`), so this holds for what is read and written as well.
 */
const FLOORS = [
  ["main.ts"],
  ["cli"],
  ["demo"],
  ["server"],
  ["console"],
  ["backup"],
  ["people", "overview"],
  ["loans", "emandate", "usage"],
  ["entitlements"],
  ["billing"],
  ["forms"],
  ["webhooks"],
  ["mcp"],
  ["access"],
  ["audit"],
  ["idempotency"],
  ["http"],
  ["app"],
  ["tenancy"],
  ["store", "usage_store"],
  ["core"],
];

/** The families of the product: what has operations, tables or both. */
const FAMILIES = [
  "people",
  "overview",
  "loans",
  "emandate",
  "usage",
  "entitlements",
  "billing",
  "forms",
  "webhooks",
  "access",
  "audit",
  "idempotency",
  "tenancy",
];

/** The folder or file directly below src/. */
const topOf = (file: string) => file.split("/")[1] ?? "";
const isOfFamily = (file: string) => file.startsWith("src/") && FAMILIES.includes(topOf(file));
const floorOf = (file: string) => FLOORS.findIndex((floor) => floor.includes(topOf(file)));
/** What agents see of a family: tools, prompts and resources. */
const isTools = (file: string) => /(tools|\/prompts|\/resources)\.ts$/.test(file);

/** The local files that a file imports, types included, as paths from the root. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(/\b(?:from|import)\s*\(?"(\.[^"]+)"/g)].map(([, path]) =>
    join(file, "..", path ?? ""),
  );
}

/** Each source with the sources that it imports. */
const imports = new Map(
  sources.map((file) => [file, importsOf(file).filter((path) => path.startsWith("src/"))]),
);

/** Every import of a source for which `isWrong` holds, as a line. */
const importsWhere = (isWrong: (file: string, path: string) => boolean) =>
  [...imports].flatMap(([file, paths]) =>
    paths.filter((path) => isWrong(file, path)).map((path) => `${file} imports ${path}`),
  );

/** What stays when files that import nothing, or that nothing imports, are taken away again and again. */
function onCircles(): string[] {
  const left = new Map(imports);
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    const imported = new Set([...left.values()].flat());
    for (const [file, paths] of left) {
      if (!imported.has(file) || !paths.some((path) => left.has(path))) left.delete(file);
    }
  }
  return [...left.keys()];
}

describe("files", () => {
  test("are named in snake_case", () => {
    const odd = code.filter(
      (file) => !file.split("/").every((part) => /^[a-z0-9_]+(\.[a-z0-9_]+)*$/.test(part)),
    );
    expect(odd).toEqual([]);
  });

  test(`have at most ${FILE_LINES} lines`, () => {
    const long = code.filter((file) => read(file).split("\n").length > FILE_LINES);
    expect(long).toEqual([]);
  });

  test("the README stays under 8 KB, so that it is read", () => {
    expect(Buffer.byteLength(read("README.md"))).toBeLessThan(8_000);
  });

  test("leave nothing for later and name no machine", () => {
    const words = ["TODO", "FIXME", "/work/", "/root/"];
    const texts = [...code.filter((file) => file !== "test/tidy.test.ts"), ...pages];
    const found = texts.flatMap((file) =>
      words.filter((word) => read(file).includes(word)).map((word) => `${file}: ${word}`),
    );
    expect(found).toEqual([]);
  });
});

describe("floors", () => {
  test("everything in src/ stands on one", () => {
    expect([...new Set(sources.map(topOf))].toSorted()).toEqual(FLOORS.flat().toSorted());
  });

  test("imports go down, never up or aside", () => {
    const upward = importsWhere(
      (file, path) => topOf(path) !== topOf(file) && floorOf(path) <= floorOf(file),
    );
    expect(upward).toEqual([]);
  });

  test("core/ imports nothing else but seeds and the version", () => {
    const core = sources.filter((file) => file.startsWith("src/core/"));
    const wrong = core.filter((file) =>
      importsOf(file).some((path) => !/^(src\/core\/|data\/seed\/|package\.json$)/.test(path)),
    );
    expect(wrong).toEqual([]);
  });

  test("files import each other in no circle, types included", () => {
    expect(onCircles()).toEqual([]);
  });

  test("test/ has the folders of src/, and some of its own", () => {
    const own = ["bench", "chaos", "contract", "deploy", "docs", "scripts", "sim", "soak", "support"];
    const folders = new Set(filesBelow("test").map(dirname));
    const odd = [...folders].filter(
      (folder) =>
        folder !== "test" &&
        !own.includes(topOf(folder)) &&
        !existsSync(join(ROOT, folder.replace("test", "src"))),
    );
    expect(odd).toEqual([]);
  });
});

/** What a folder of a family is made of, from the bottom up. */
const PARTS = ["limits", "model", "tables", "rules", "queries", "service", "routes", "tools"];

describe("families", () => {
  test("inside a folder lower files never import upper ones; rules are pure", () => {
    const rank = (path: string) => PARTS.indexOf(/\/(\w+)\.ts$/.exec(path)?.[1] ?? "");
    const wrong = importsWhere(
      (file, path) =>
        isOfFamily(file) && dirname(path) === dirname(file) && rank(file) >= 0 && rank(path) > rank(file),
    );
    expect(wrong).toEqual([]);
    const impure = sources.filter(
      (file) => file.endsWith("/rules.ts") && /\b(async|await|Temporal\.Now|store)\b/.test(read(file)),
    );
    expect(impure).toEqual([]);
  });

  test("a folder imports another's model, tables, rules and queries, never its service, routes or tools", () => {
    const wrong = importsWhere(
      (file, path) =>
        isOfFamily(file) &&
        !isTools(file) &&
        isOfFamily(path) &&
        dirname(path) !== dirname(file) &&
        !dirname(path).startsWith(`${dirname(file)}/`) &&
        /(^|_|\/)(service|routes|tools)\.ts$/.test(path),
    );
    expect(wrong).toEqual([]);
  });

  test("tools reach records by operations only, and only they and server/ know MCP", () => {
    const tools = sources.filter((file) => file.startsWith("src/mcp/") || isTools(file));
    expect(tools.length).toBeGreaterThan(8);
    const wrong = importsWhere(
      (file, path) =>
        (tools.includes(file) && /\/(\w+_)?(queries|tables|routes)\.ts$/.test(path)) ||
        (path.startsWith("src/mcp/") && !tools.includes(file) && topOf(file) !== "server"),
    );
    expect(wrong).toEqual([]);
  });

  test("only they open transactions; routes neither branch nor query", () => {
    const writers = sources.filter(
      (file) => /\bstore\.tx\(/.test(read(file)) && !file.startsWith("src/store/"),
    );
    // A restore makes a database of its own; that an instance lives, and that a backup is whole, concerns no family; If-Match
    // is compared in a change's.
    const others = [
      "src/app/transaction.ts",
      "src/backup/restore/restore.ts",
      "src/http/if_match.ts",
      "src/server/instances/registry.ts",
      "src/server/note_verification.ts",
    ];
    expect(writers.filter((file) => !isOfFamily(file) && !others.includes(file))).toEqual([]);
    const routes = sources.filter((file) => /(^|_|\/)routes\.ts$/.test(file));
    expect(routes.length).toBeGreaterThan(4);
    expect(routes.filter((file) => /\b(if|switch) \(|queries\.ts/.test(read(file)))).toEqual([]);
  });
});

describe("citations and links", () => {
  const decisions = readdirSync(join(ROOT, "docs/decisions")).filter((name) => /^\d/.test(name));

  /** A heading's anchor, as GitHub makes it. */
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
  const anchorsOf = (page: string) =>
    [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));

  /** A file's text with comments in one line each, so that a citation is found where it wraps. */
  const unwrapped = (file: string) => read(file).replaceAll(/\n[ \t]*(?:\*|\/\/)? ?/g, " ");

  const leadsNowhere = (target: string): boolean => {
    const [path = "", anchor] = target.split("#");
    if (!existsSync(join(ROOT, path))) return true;
    return anchor !== undefined && !anchorsOf(path).includes(anchor);
  };

  test("code names pages and headings of docs/ that exist", () => {
    const wrong = code.flatMap((file) =>
      [...unwrapped(file).matchAll(/(?<![\w/.])([\w/]+\.md(?:#[\w-]+)?)/g)]
        .filter(([, target = ""]) => leadsNowhere(target))
        .map(([, target]) => `${file}: ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test("sources are public: documents of this repository are named by their path", () => {
    const sourced = sources.flatMap((file) => [...unwrapped(file).matchAll(/Source: (.{9})/g)]);
    const known = /^(ISO \d+|RFC \d+|data\/\w+|Aumasson)/;
    expect(sourced.map(([, source = ""]) => source).filter((source) => !known.test(source))).toEqual([]);
  });

  test("every decision that is named exists", () => {
    const wrong = [...code, ...pages].flatMap((file) =>
      [...unwrapped(file).matchAll(/\bdecisions? (\d{4}(?:(?:, | and | to |–)\d{4})*)/gi)]
        .flatMap(([, numbers = ""]) => numbers.match(/\d{4}/g) ?? [])
        .filter((number) => !decisions.some((name) => name.startsWith(number)))
        .map((number) => `${file}: decision ${number}`),
    );
    expect(wrong).toEqual([]);
  });

  test("relative links of pages lead to files and headings", () => {
    expect(pages.length).toBeGreaterThan(100);
    const wrong = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !/^[a-z]+:/.test(target))
        .filter((target) =>
          leadsNowhere(target.startsWith("#") ? page + target : join(dirname(page), target)),
        )
        .map((target) => `${page}: ${target}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe("the map of the code", () => {
  const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `src/${name}`);

  test("every folder of src/ has a README of one screen", () => {
    const lines = (folder: string) => read(`${folder}/README.md`).split("\n").length;
    expect(folders.filter((folder) => lines(folder) > 60)).toEqual([]);
  });

  test("the README of a folder names its files, but for those that every family has", () => {
    const missing = sources.filter(
      (file) =>
        folders.includes(dirname(file)) &&
        !PARTS.includes(basename(file, ".ts")) &&
        !read(`${dirname(file)}/README.md`)
          .split(/[`/]/)
          .includes(basename(file)),
    );
    expect(missing).toEqual([]);
  });

  test("the architecture and the READMEs of folders name files that exist", () => {
    const exists = (page: string, path: string) => {
      const places = [dirname(page), "src", "."].map((folder) => join(ROOT, folder, path));
      if (places.some((place) => existsSync(place))) return true;
      return page === "docs/architecture.md" && sources.some((file) => file.endsWith(`/${path}`));
    };
    const named = ["docs/architecture.md", ...folders.map((folder) => `${folder}/README.md`)];
    const wrong = named.flatMap((page) =>
      [...read(page).matchAll(/`([\w./]+(?:\.ts|\/))`/g)]
        .filter(([, path = ""]) => !exists(page, path))
        .map(([, path]) => `${page}: ${path}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe("what is written twice stays the same", () => {
  test("the index of decisions names each one", () => {
    const index = read("docs/decisions/README.md");
    const decisions = readdirSync(join(ROOT, "docs/decisions")).filter((name) => name !== "README.md");
    expect(decisions.filter((name) => !index.includes(`](${name})`))).toEqual([]);
  });

  test("each pattern of the tests that run on PostgreSQL, or by turns, matches a file", () => {
    const none = [...ON_POSTGRES, ...BY_TURNS].filter(
      (pattern) => new Bun.Glob(pattern).scanSync(ROOT).next().done,
    );
    expect(none).toEqual([]);
  });

  test("drizzle-kit sees every table of both dialects", () => {
    const defined = Object.keys(defineTables(columnKit(sqliteColumns))).toSorted();
    expect(Object.keys(sqliteSchema).toSorted()).toEqual(defined);
    expect(Object.keys(postgresSchema).toSorted()).toEqual(defined);
  });

  test("docs/configuration.md lists every setting with its default", () => {
    const page = read("docs/configuration.md");
    for (const { name, fallback } of Object.values(SETTINGS)) {
      const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\` |`));
      expect(row, name).toBeString();
      if (fallback !== null) expect(row, name).toContain(`\`${fallback}\``);
    }
  });

  test("every exported operation says what it does, and is named as it is called", () => {
    const wrong = sources.flatMap((file) =>
      [...read(file).matchAll(/(.*)\nexport const (\w+) = (?:operation|retention)\(\{\n {2}name: "(\w+)"/g)]
        .filter(([, before, constant, name]) => {
          const snake = (constant ?? "").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
          return !before?.endsWith("*/") || name !== snake;
        })
        .map(([, , constant]) => `${file}: ${constant}`),
    );
    expect(wrong).toEqual([]);
  });
});
