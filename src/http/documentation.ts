import { type AnyElysia, Elysia } from "elysia";
import stylesheet from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import bundle from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import type { describe } from "./openapi.ts";

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Meterhouse API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>`;

const START = `SwaggerUIBundle({ url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true, persistAuthorization: false });`;

const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";

/** An imported file is its path: in the package, or inside of the executable. */
const asset = (path: string) => () => Bun.file(path);

/** `/docs` for people and `/openapi.json` for programs. All assets come from this process. */
export function documentation(appOf: () => AnyElysia) {
  const hidden = { detail: { hide: true } };
  return new Elysia({ name: "documentation" })
    .get("/openapi.json", () => documentOf(appOf()), hidden)
    .get(
      "/docs",
      ({ set }) => {
        set.headers["content-type"] = "text/html; charset=utf-8";
        set.headers["content-security-policy"] = POLICY;
        return PAGE;
      },
      hidden,
    )
    .get(
      "/docs/start.js",
      ({ set }) => {
        set.headers["content-type"] = "text/javascript; charset=utf-8";
        return START;
      },
      hidden,
    )
    .get("/docs/swagger-ui.css", asset(stylesheet), hidden)
    .get("/docs/swagger-ui-bundle.js", asset(bundle), hidden)
    .get("/swagger", ({ redirect }) => redirect("/docs"), hidden);
}

const documents = new WeakMap<AnyElysia, ReturnType<typeof describe>>();

/** The OpenAPI document of an app, made once. Most processes are never asked for it: its generator is loaded then. */
export async function documentOf(app: AnyElysia): Promise<ReturnType<typeof describe>> {
  const made = documents.get(app) ?? (await import("./openapi.ts")).describe(app);
  documents.set(app, made);
  return made;
}
