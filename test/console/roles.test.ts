import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { permissionsOf, type Role } from "../../src/core/access.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { type PageRow, PAGES } from "../support/console/pages.ts";
import { CLIENT_EMAIL, seedCompany } from "../support/console/seed.ts";
import { expectNoTrouble, goTo, settle } from "../support/console/walk.ts";
import { PASSWORD, useService } from "../support/harness.ts";
import { isChosen } from "../support/properties.ts";

// What each role is shown: every link of every page that it has, followed once for each kind of address.

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);
const STAFF = ["manager", "analyst", "loan_officer"] as const satisfies Role[];
const ALL = ["admin", ...STAFF, "client"] as const satisfies Role[];

beforeAll(async () => {
  await seedCompany(service, service);
  for (const role of STAFF)
    await service.api("POST", "/users", { email: `${role}@example.com`, password: PASSWORD, role });
});

const emailOf = (role: Role) =>
  role === "admin" ? service.admin_email : role === "client" ? CLIENT_EMAIL : `${role}@example.com`;

/** The pages of a role, by the console's own table. */
function pagesOf(role: Role): PageRow[] {
  const held = permissionsOf(role);
  return PAGES.filter(
    ({ audience, permission }) =>
      audience !== (role === "client" ? "company" : "client") &&
      (permission === undefined || held.includes(permission)),
  );
}

function isAt({ path }: PageRow, address: string): boolean {
  const [wanted, given] = [`/console${path}`.split("/"), address.split("/")];
  return (
    wanted.length === given.length && wanted.every((part, i) => part.startsWith(":") || part === given[i])
  );
}

/** Addresses of one kind: the same page or path, asked by the same filters. */
function kindOf(href: string, pages: readonly PageRow[]): string {
  const { pathname, searchParams } = new URL(href, service.url);
  const path = pages.find((row) => isAt(row, pathname))?.path ?? pathname.replaceAll(/\d+/g, "1");
  return `${path}?${[...searchParams.keys()].toSorted().join("&")}`;
}

const LINKS = `[...document.querySelectorAll("a[href]")].map((link) => link.getAttribute("href"))`;

/** Follows every link that a role is shown. Returns the kinds of addresses it led to, and what went wrong. */
async function followAll(page: Page, role: Role): Promise<{ seen: Set<string>; wrong: string[] }> {
  const pages = pagesOf(role);
  const seen = new Set(["/account?"]);
  const wrong: string[] = [];
  let at = "/console";
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (response.status() >= 400) wrong.push(`${at}: ${response.status()} ${pathname}`);
  });
  // The account's page is led to by a menu.
  const queue = [at, "/console/account"];
  for (const href of queue) {
    at = href;
    if (href.startsWith("/api/") || href.startsWith("/docs")) {
      const answer = await page.request.get(`${service.url}${href}`);
      if (!answer.ok()) wrong.push(`${href}: ${answer.status()}`);
      continue;
    }
    await goTo(page, href);
    for (const link of await page.evaluate<string[]>(LINKS)) {
      if (!link.startsWith("/")) continue;
      const kind = kindOf(link, pages);
      if (seen.has(kind)) continue;
      seen.add(kind);
      const { pathname } = new URL(link, service.url);
      if (pathname.startsWith("/console/") && !pages.some((row) => isAt(row, pathname)))
        wrong.push(`${at}: leads to ${link}, which the role does not have`);
      else queue.push(link);
    }
  }
  return { seen, wrong };
}

/** The addresses of one kind of page that a role does not have, each asked for by its address. */
async function expectRefusals(page: Page, role: Role): Promise<void> {
  const mine = pagesOf(role);
  for (const row of PAGES) {
    if (mine.includes(row)) continue;
    const path = row.path.replaceAll(/:\w+/g, "1");
    await goTo(page, `/console${path}`);
    await page
      .getByRole("heading", { level: 1, name: `You may not see ${row.title}`, exact: true })
      .waitFor();
  }
}

describeInBrowser("each role", () => {
  test.each(ALL)("as %s: navigation has its pages and no others", async (role) => {
    const { page, troubles } = await browser.openAs(emailOf(role));
    await settle(page);
    const links = await page.getByRole("navigation", { name: "Main" }).getByRole("link").allTextContents();
    const in_navigation = pagesOf(role).flatMap(({ title, nav }) => (nav === undefined ? [] : [title]));
    expect(links.toSorted()).toEqual(in_navigation.toSorted());
    expectNoTrouble(troubles);
    await page.close();
  });

  // Each walk goes through all pages: in a check some roles have their turn.
  test.each(ALL.filter((_, i) => isChosen(i, 3)))(
    "as %s: every link leads to a page that loads, and other addresses say why they do not",
    async (role) => {
      const { page, troubles } = await browser.openAs(emailOf(role));
      const { seen, wrong } = await followAll(page, role);
      expect(wrong).toEqual([]);
      const reached = new Set([...seen].map((kind) => kind.split("?")[0] ?? ""));
      // The first steps are those of a company without a subscription.
      const lost = pagesOf(role).filter(({ path }) => !reached.has(path) && path !== "/first-steps");
      expect(lost.map(({ path }) => path)).toEqual([]);
      await expectRefusals(page, role);
      expectNoTrouble(troubles);
      await page.close();
    },
  );
});
