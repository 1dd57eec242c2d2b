import { sha256 } from "../../core/random_secrets.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** A text as it is sent: packed once, and known again by its tag (RFC 9110, 8.8.3). */
export interface TaggedText {
  gzipped: Uint8Array<ArrayBuffer>;
  etag: string;
}

/**
 * The schemas of all bodies by their titles, with those that they refer to, out of an OpenAPI document: what forms know
 * of their fields. All of them are 10 kB, so that no list says which forms there are.
 */
export function bodySchemas(document: JsonObject): TaggedText {
  const all = fieldOf(fieldOf(document, "components"), "schemas");
  const found: JsonObject = {};
  const collect = (node: Json): void => {
    for (const [, title = ""] of JSON.stringify(node).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (found[title] !== undefined) continue;
      const schema = withoutExamples(fieldOf(all, title));
      found[title] = schema;
      collect(schema);
    }
  };
  for (const methods of Object.values(fieldOf(document, "paths")))
    if (isObject(methods)) for (const route of Object.values(methods)) collect(fieldOf(route, "requestBody"));
  const text = JSON.stringify(found);
  return { gzipped: Bun.gzipSync(text, { level: 9 }), etag: `"${sha256(text).slice(0, 22)}"` };
}

function withoutExamples(node: Json): Json {
  if (Array.isArray(node)) return node.map(withoutExamples);
  if (!isObject(node)) return node;
  const kept = Object.entries(node).filter(([name, value]) => name !== "examples" || !Array.isArray(value));
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutExamples(value)]));
}

/** A field that is an object; an empty one where there is none. */
function fieldOf(node: Json, name: string): JsonObject {
  const field = isObject(node) ? node[name] : undefined;
  return field !== undefined && isObject(field) ? field : {};
}

const isObject = (node: Json): node is JsonObject =>
  typeof node === "object" && node !== null && !Array.isArray(node);
