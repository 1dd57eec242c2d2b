import { me, may } from "./session.ts";
import { type Page, PAGES } from "./pages.ts";

export const BASE = "/console";

/** Whether who is signed in has a page. */
export function isMine({ audience, permission }: Page): boolean {
  const is_client = me.value?.role === "client";
  if (audience !== "any" && (audience === "client") !== is_client) return false;
  return permission === undefined || may(permission);
}

/** The pages that navigation shows, of who is signed in. */
export const navigation = (): Page[] => PAGES.filter((page) => page.nav !== undefined && isMine(page));

interface Found {
  page: Page;
  /** The parts of the address that the page's path names. */
  params: Record<string, string>;
}

/** The page of an address, where who is signed in has it. */
export function findPage(path: string): Found | undefined {
  const found = findAnyPage(path);
  return found && isMine(found.page) ? found : undefined;
}

/** The page of an address, whoever has it: "new" is no record's number, also for those who make none. */
export function findAnyPage(path: string): Found | undefined {
  const below = path.slice(BASE.length).replace(/\/$/, "") || "/";
  for (const page of PAGES) {
    const params = match(page.path, below);
    if (params !== undefined) return { page, params };
  }
  return undefined;
}

/** Where somebody begins: the first page that they have. */
export const firstPath = (): string => `${BASE}${navigation()[0]?.path ?? "/account"}`;

function match(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const value = given[i] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = decoded(value);
    else if (part !== value) return undefined;
  }
  return params;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not what we wrote: there is no record of such a name.
    return part;
  }
}
