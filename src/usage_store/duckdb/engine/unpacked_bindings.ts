import { join } from "node:path";
import { type PackedFile, useUnpacked } from "../../../core/unpack.ts";

type Bindings = Record<PropertyKey, unknown>;

/**
 * DuckDB's native functions as the executable has them: unpacked and loaded with the first use of one, so that
 * commands without usage write nothing. `known` are its constants, which are read before that. `scripts/compile.ts` puts this
 * in the place of @duckdb/node-bindings.
 */
export function unpackedBindings(known: Bindings, files: readonly PackedFile[]): Bindings {
  let loaded: Bindings | undefined;
  const missing = new Proxy<Bindings>(
    {},
    {
      get(_, name) {
        if (typeof name === "symbol") return undefined;
        if (loaded === undefined) {
          loaded = useUnpacked(files, load);
          // From here on they are properties of its own, and nothing stands between.
          Object.defineProperties(bindings, Object.getOwnPropertyDescriptors(loaded));
        }
        return loaded[name];
      },
    },
  );
  const bindings: Bindings = Object.assign(Object.create(missing), known);
  return bindings;
}

function load(folder: string): Bindings {
  const module: { exports: Bindings } = { exports: {} };
  process.dlopen(module, join(folder, "duckdb.node"));
  return module.exports;
}
