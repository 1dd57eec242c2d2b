import type { Context } from "../app/context.ts";
import type { Permission } from "../core/access.ts";
import type { Toolset } from "../core/toolsets.ts";

/** Something to read: at one address, or at one for each id, where its address ends in `{id}`. */
export interface Resource {
  uri: string;
  name: string;
  title: string;
  description: string;
  mime_type: string;
  /** Of which toolset it is, and what the user must be allowed; for everyone where it is left out. */
  toolset?: Toolset;
  permission?: Permission;
  /** Its text. `id` is what stands in place of `{id}`. Errors: those of its operation. */
  read: (ctx: Context, id: number) => Promise<string>;
}

const ID = "{id}";

export function isTemplate({ uri }: Resource): boolean {
  return uri.endsWith(ID);
}

/** The id in an address of a resource, 0 where it has none; undefined for another's address. */
export function idIn({ uri }: Resource, address: string): number | undefined {
  if (!uri.endsWith(ID)) return address === uri ? 0 : undefined;
  const start = uri.slice(0, -ID.length);
  if (!address.startsWith(start) || !/^[1-9]\d{0,15}$/.test(address.slice(start.length))) return undefined;
  const id = Number(address.slice(start.length));
  return Number.isSafeInteger(id) ? id : undefined;
}
