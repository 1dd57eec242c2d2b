import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { permissionsOf, type Role } from "../../src/core/access.ts";
import { describeInBrowser, type Opened, useBrowser } from "../support/console/browser.ts";
import { type PageRow, PAGES } from "../support/console/pages.ts";
import { CLIENT_EMAIL, type Samples, seedCompany } from "../support/console/seed.ts";
import {
  expectAccessible,
  expectNoOverflow,
  expectNoTrouble,
  goTo,
  settle,
} from "../support/console/walk.ts";
import { PASSWORD, type Tenant, useService } from "../support/harness.ts";
import { isChosen, TESTS_ALL } from "../support/properties.ts";

// Every page in every state. PAGES is the console's own table, so that a new page is walked by itself.

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);

/** Who else of a company has pages, by role. */
const STAFF = ["manager", "loan_officer"] as const satisfies Role[];

let samples: Samples = {};
let empty: Tenant & { client_email: string };

beforeAll(async () => {
  samples = await seedCompany(service, service);
  for (const role of STAFF)
    await service.api("POST", "/users", { email: `${role}@example.com`, password: PASSWORD, role });
  const tenant = await service.addTenant({ timezone: "America/New_York", currency: "USD" });
  const { body } = await tenant.api("POST", "/clients", { name: "Nobody's" });
  const client_email = "client@example.org";
  const user = { email: client_email, password: "correct horse battery", role: "client" };
  await tenant.api("POST", "/users", { ...user, client_id: body.data.id });
  empty = { ...tenant, client_email };
});

/** A page's address, with a record of the sample in it. */
function addressOf({ path }: PageRow): string {
  const values = samples[path] ?? {};
  return `/console${path.replaceAll(/:(\w+)/g, (_, name: string) => String(values[name] ?? 1))}`;
}

const rows = (pages: readonly PageRow[]) => pages.map((row) => [row.path, row] as const);

const isOfRecord = ({ path }: PageRow) => path.includes(":");

/** Whether a page is the first of its area that shows a list, or one record. */
const isFirstOfKind = (row: PageRow) =>
  PAGES.find((other) => other.area === row.area && isOfRecord(other) === isOfRecord(row)) === row;

const FIRST_OF_KIND = PAGES.filter(isFirstOfKind);

/** Whether a page is failed, too, which costs as much as all else: some of the first of each kind; each page on demand. */
const isFailed = (row: PageRow) =>
  TESTS_ALL || (isFirstOfKind(row) && isChosen(FIRST_OF_KIND.indexOf(row), 3));

/** In which colours a page is examined: in one check the light, in another the dark, and in a third none. */
function schemesOf(row: PageRow): ("light" | "dark")[] {
  const position = PAGES.indexOf(row);
  return (["light", "dark"] as const).filter((_, i) => TESTS_ALL || isChosen(position + i, 3));
}

/** A tab of each user: going from page to page in it, as people do, takes half the time of loading each. */
const tabs = new Map<string, Promise<Opened>>();

/** Looks at a page in a user's tab, which is light and wide again; one in which something went wrong is not used again. */
async function inTab(email: string, address: string, look: (page: Page) => Promise<void>): Promise<void> {
  const opened = tabs.get(email) ?? browser.openAs(email, address);
  tabs.set(email, opened);
  const { page, troubles } = await opened;
  try {
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 900 });
    await goTo(page, address);
    await look(page);
    expectNoTrouble(troubles);
  } catch (error) {
    tabs.delete(email);
    throw error;
  }
}

/** Loads the page again while every question is answered late and with an error, until it is asked to try again. */
async function expectRecovery(page: Page, row: PageRow): Promise<void> {
  let is_failing = true;
  let asked = 0;
  await page.route(/\/api\/v1\/(?!me$)/, async (route) => {
    asked++;
    if (!is_failing) return route.continue();
    // Late enough that what is shown meanwhile is drawn.
    await new Promise((resume) => setTimeout(resume, 200));
    const headers = { "x-request-id": "request-of-this-test" };
    await route.fulfill({ status: 500, headers, json: { error: "Internal error" } });
  });
  await page.reload();
  const failure = page.getByRole("alert").first();
  await page.locator("main h1").or(failure).first().waitFor();
  if (asked === 0) return page.unrouteAll();
  await failure.waitFor();
  expect(await failure.textContent()).toContain("Internal error.Request request-of-this-test");
  if (isFirstOfKind(row)) await expectAccessible(page);
  is_failing = false;
  const retry = page.getByRole("button", { name: "Try again", exact: true });
  // One that is tried again with others is gone before it is clicked.
  while ((await page.getByRole("alert").getByText("Internal error").count()) > 0)
    await retry
      .first()
      .click({ timeout: 500 })
      .catch(() => undefined);
  await settle(page);
  await page.unrouteAll({ behavior: "wait" });
}

describeInBrowser("pages", () => {
  const walked = PAGES.map(
    (row) => [row.path, schemesOf(row).join(" and "), isFailed(row) ? ", failing" : "", row] as const,
  );
  test.each(walked)("%s: with data, %s, at 320 px%s", async (_, __, failing, row) => {
    const email = row.audience === "client" ? CLIENT_EMAIL : service.admin_email;
    await inTab(email, addressOf(row), async (page) => {
      // A page of what is not there, or may not be seen, would pass for one.
      expect(await page.getByRole("alert").count()).toBe(0);
      expect(await page.title()).not.toMatch(/no such page|may not see/);
      for (const colorScheme of schemesOf(row)) {
        await page.emulateMedia({ colorScheme });
        await expectAccessible(page);
      }
      await page.setViewportSize({ width: 320, height: 800 });
      await expectNoOverflow(page);
      if (failing) await expectRecovery(page, row);
    });
  });

  // What an admin is shown is walked above. What others are of it, on a phone in the dark and on a desk: in a check a few.
  const others = STAFF.flatMap((role) => {
    const held = permissionsOf(role);
    const mine = PAGES.filter(
      ({ audience, permission }) =>
        audience !== "client" && (permission === undefined || held.includes(permission)),
    );
    return mine.map((row) => [role, row.path, `${role}@example.com`, row] as const);
  });
  const clients = PAGES.filter(({ audience }) => audience !== "company").map(
    (row) => ["client", row.path, CLIENT_EMAIL, row] as const,
  );
  test.each([...others, ...clients].filter((_, i) => isChosen(i, 12)))(
    "as %s, %s: on a phone in the dark, and on a desk",
    async (_, __, email, row) => {
      await inTab(email, addressOf(row), async (page) => {
        expect(await page.getByRole("alert").count()).toBe(0);
        expect(await page.title()).not.toMatch(/no such page|may not see/);
        await expectAccessible(page);
        await expectNoOverflow(page);
        await page.emulateMedia({ colorScheme: "dark" });
        await page.setViewportSize({ width: 390, height: 844 });
        await expectNoOverflow(page);
        await expectAccessible(page);
      });
    },
  );

  test("no two pages have the same key", () => {
    for (const audience of ["company", "client"] as const) {
      const mine = PAGES.filter((row) => row.audience === audience || row.audience === "any");
      const keys = mine.flatMap(({ nav }) => (nav?.key === undefined ? [] : [nav.key]));
      expect(keys).toEqual([...new Set(keys)]);
    }
  });

  const lists = PAGES.filter((row) => !isOfRecord(row)).filter((_, i) => isChosen(i, 3));
  test.each(rows(lists))("%s: in an empty company", async (_, row) => {
    const email = row.audience === "client" ? empty.client_email : empty.admin_email;
    await inTab(email, addressOf(row), async (page) => {
      await expectAccessible(page);
      await page.setViewportSize({ width: 320, height: 800 });
      await expectNoOverflow(page);
    });
  });
});
