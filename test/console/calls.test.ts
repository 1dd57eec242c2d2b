import { expect, test } from "bun:test";
import { Glob } from "bun";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { documentOf } from "../../src/http/documentation.ts";
import { buildApp } from "../../src/server/http_app.ts";
import { useService } from "../support/harness.ts";

const service = useService();
const SOURCES = join(import.meta.dir, "../../src/console");

interface Call {
  file: string;
  kind: string;
  type: string;
  path: string;
}

/** Every call of the console, as it is declared; those that clients have alike below `/my` as well. */
function declaredCalls(): Call[] {
  const pattern = /\b(get|list|find|post|put|remove)<typeof (\w+)>\(\s*"(\/[^"]*)",?\s*\)/g;
  return [...new Glob("{app,pages,ui}/**/*.{ts,tsx}").scanSync(SOURCES)].flatMap((file) => {
    const text = readFileSync(join(SOURCES, file), "utf8");
    const roots = /\bbelow\("\/my"|\bcallsByRole\(/.test(text) ? ["", "/my"] : [""];
    return [...text.matchAll(pattern)].flatMap(([, kind = "", type = "", path = ""]) =>
      roots.map((root) => ({ file, kind, type, path: root + path })),
    );
  });
}

/** The title of the schema that a file imports as a type. */
async function titleOf(file: string, type: string): Promise<string | undefined> {
  const text = readFileSync(join(SOURCES, file), "utf8");
  for (const [, names = "", from = ""] of text.matchAll(/import type \{([^}]*)\} from "([^"]+)"/g)) {
    if (!names.split(",").some((name) => name.trim() === type)) continue;
    const module: Record<string, { title?: string }> = await import(join(SOURCES, dirname(file), from));
    return module[type]?.title;
  }
  return undefined;
}

const METHODS: Record<string, "get" | "post" | "put" | "delete"> = {
  get: "get",
  list: "get",
  post: "post",
  find: "post",
  put: "put",
  remove: "delete",
};

interface Schema {
  $ref?: string;
  type?: string;
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
}

test("each call of the console is a route, and answers with what its type says", async () => {
  const document: {
    paths: Record<
      string,
      Record<string, { responses: Record<string, { content?: Record<string, { schema?: Schema }> }> }>
    >;
    components: { schemas: Record<string, Schema> };
  } = JSON.parse(JSON.stringify(await documentOf(buildApp(service.deps))));
  const resolved = (schema: Schema | undefined): Schema | undefined => {
    const name = schema?.$ref?.split("/").at(-1);
    return name === undefined ? schema : document.components.schemas[name];
  };
  const nameOf = (schema: Schema | undefined) => schema?.$ref?.split("/").at(-1);
  const calls = declaredCalls();
  expect(calls.length).toBeGreaterThan(10);
  const wrong: string[] = [];
  for (const { file, kind, type, path } of calls) {
    const where = `${file}: ${kind} ${path}`;
    const title = await titleOf(file, type);
    const operation =
      document.paths[`/api/v1${path.replaceAll(/:(\w+)/g, "{$1}")}`]?.[METHODS[kind] ?? "get"];
    if (operation === undefined) {
      wrong.push(`${where}: there is no such route`);
      continue;
    }
    const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"))?.[1];
    const body = resolved(success?.content?.["application/json"]?.schema);
    // An answer may have several forms, such as events or sums.
    const answered = (body?.anyOf ?? [body]).map((form) => {
      const { data } = resolved(form)?.properties ?? {};
      return kind === "list" || kind === "find" ? nameOf(resolved(data)?.items) : nameOf(data);
    });
    if (title === undefined || !answered.includes(title))
      wrong.push(`${where}: answers with ${answered.join(" or ") || "something else"}, not ${type}`);
  }
  expect(wrong).toEqual([]);
});
