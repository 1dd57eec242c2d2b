import { join } from "node:path";
import type { Permission } from "../../../src/core/access.ts";

/** A row of the console's table of pages, as far as tests look at it. */
export interface PageRow {
  path: string;
  title: string;
  permission?: Permission;
  audience: "company" | "client" | "any";
  nav?: { key?: string };
  /** Whose pages are loaded together. */
  area: string;
}

// By a computed path: a plain import would bring the browser's types into the service's.
const loaded: { PAGES: readonly PageRow[] } = await import(
  join(import.meta.dir, "../../../src/console/app/pages.ts")
);

/** All pages of the console. */
export const { PAGES } = loaded;
