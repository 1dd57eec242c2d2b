import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { addCatalog } from "../billing/subscriptions/fixtures.ts";
import { type Json, PASSWORD, useService } from "../support/harness.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { expectAccessible, expectNoOverflow, expectNoTrouble, settle } from "../support/console/walk.ts";
import { addSubscription, ms, search, send } from "../usage/fixtures.ts";

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);

const DAYS = 20;
const MODELS = ["large", "small"];

/** In March, noon in Kuala Lumpur: each day an event of each model from two clients. */
beforeAll(async () => {
  for (const [c, name] of ["Acme", "Globex"].entries()) {
    const catalog = await addCatalog(service);
    await service.api("PUT", `/clients/${catalog.client_id}`, { name });
    const external_subscription_id = `sub-${name}`;
    await addSubscription(service, external_subscription_id, catalog);
    const events = Array.from({ length: DAYS }, (_, day) =>
      MODELS.map((model, m) => ({
        external_subscription_id,
        timestamp: ms(`2026-03-${String(day + 1).padStart(2, "0")}T12:00:00+08:00`),
        usage: (c + 1) * 100 + m * 10 + day,
        metadata: { model },
      })),
    ).flat();
    expect((await send(service.api, events)).status).toBe(201);
  }
});

let analyst_email: string;
beforeAll(async () => {
  analyst_email = "analyst-of-usage@example.com";
  const user = { email: analyst_email, password: PASSWORD, role: "analyst" };
  expect((await service.api("POST", "/users", user)).status).toBe(201);
});

/** The figure at the top, as a number. */
async function total(page: Page): Promise<number> {
  await settle(page);
  const text = await page.locator(".explore-total strong").textContent();
  return Number(text?.replaceAll(",", ""));
}

async function expected(question: Json): Promise<number> {
  return (await search(service.api, question, "/usage/series")).data.total.value;
}

const open = (query = "", look = {}) =>
  browser.openAs(service.admin_email, `/console/usage?range=2026-03${query}`, look);

describeInBrowser("usage explorer", () => {
  test("groups, filters and what is only asked for a part; Back undoes each step", async () => {
    const { page, troubles } = await open();
    const month = { month: "2026-03" };
    const all = await expected({ range: month });
    expect(await total(page)).toBe(all);
    await page.getByLabel("Group by").selectOption("Client");
    const groups = page.getByRole("table", { name: "Groups" });
    await groups.getByText("Globex").waitFor();
    await page.getByRole("button", { name: "Acts for Globex" }).click();
    await page.getByRole("menuitem", { name: "Break down by model" }).click();
    await groups.getByText("small").waitFor();
    await page.getByText("Client is Globex").waitFor();
    const { data } = await service.api("GET", "/clients?search=Globex").then(({ body }) => body);
    const globex = { field: "client", op: "is", values: [String(data[0].id)] };
    expect(await total(page)).toBe(await expected({ range: month, filters: [globex] }));

    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByLabel("Field").selectOption("model");
    await page.getByRole("group", { name: "Values that events have" }).getByText("large").click();
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("model is large").waitFor();
    const large = { field: "metadata:model", op: "is", values: ["large"] };
    expect(await total(page)).toBe(await expected({ range: month, filters: [globex, large] }));

    await page.goBack();
    await page.getByText("model is large").waitFor({ state: "detached" });
    await page.goBack();
    await page.goBack();
    expect(await total(page)).toBe(all);
    expect(new URL(page.url()).search).toBe("?range=2026-03");
    expectNoTrouble(troubles);
  });

  test("a drag over the chart zooms, so do fields and keys, and arrows move the range", async () => {
    const { page, troubles } = await open("&interval=day");
    const all = await total(page);
    const box = await page.locator(".plot .bars, .plot .line").first().boundingBox();
    if (box === null) throw new Error("There is no chart");
    await page.mouse.move(box.x + box.width * 0.1, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/range=2026-03-0/);
    expect(await total(page)).toBeLessThan(all);
    await page.goBack();
    await page.waitForURL(/range=2026-03&/);
    expect(await total(page)).toBe(all);

    // The same without a mouse.
    await page.getByRole("application").focus();
    await page.keyboard.press("Home");
    await page.getByText("Sun, 1 Mar 2026").waitFor();
    await page.getByRole("button", { name: "Only this time" }).click();
    const day = { from: "2026-03-01", to: "2026-03-02" };
    await page.waitForURL(/range=2026-02-28/);
    expect(await total(page)).toBe(await expected({ range: day }));

    await page.getByRole("button", { name: "Range after" }).click();
    await page.getByText("2 Mar 2026").first().waitFor();
    const next = { from: "2026-03-02", to: "2026-03-03" };
    expect(await total(page)).toBe(await expected({ range: next }));

    await page.getByRole("group", { name: "Range" }).getByRole("button").nth(1).click();
    await page.getByLabel("Typed").fill("2026-03-05..2026-03-06");
    await page.keyboard.press("Enter");
    await page.waitForURL(/2026-03-05..2026-03-06/);
    expect(await total(page)).toBe(await expected({ range: { from: "2026-03-05", to: "2026-03-07" } }));

    await page.getByRole("group", { name: "Range" }).getByRole("button").nth(1).click();
    await page.getByLabel("From", { exact: true }).fill("2026-03-05T12:00");
    await page.getByLabel("Before", { exact: true }).fill("2026-03-05T12:01");
    await page.keyboard.press("Enter");
    await page.waitForURL(/2026-03-05T12/);
    expect(await total(page)).toBe(
      await expected({ range: { from: "2026-03-05T04:00:00Z", to: "2026-03-05T04:01:00Z" } }),
    );
    expectNoTrouble(troubles);
  });

  test("old figures stay until there are new ones, and only the last question is answered", async () => {
    const { page } = await open();
    const all = await total(page);
    const asked: string[] = [];
    await page.route(/usage\/series$/, async (route) => {
      const body = route.request().postDataJSON();
      asked.push(body.measure);
      if (body.measure === "events") await new Promise((resume) => setTimeout(resume, 1_000));
      await route.continue().catch(() => undefined);
    });
    await page.getByLabel("Measure").selectOption("Events");
    await page.locator(".dimmed").waitFor();
    expect(await page.locator(".explore-total strong").textContent()).toBe(
      new Intl.NumberFormat("en-GB").format(all),
    );
    await page.getByLabel("Measure").selectOption("Largest event");
    await page.getByText("Largest event", { exact: true }).last().waitFor();
    expect(await total(page)).toBe(await expected({ range: { month: "2026-03" }, measure: "largest" }));
    await page.waitForTimeout(1_200);
    expect(await page.locator(".explore-total .label").textContent()).toBe("Largest event");
    expect(asked).toContain("largest");
  });

  test("its events, page after page, and a value of one narrows to those like it", async () => {
    const { page, troubles } = await open();
    await settle(page);
    await page.getByRole("link", { name: "Usage events" }).click();
    await page.waitForURL(/usage\/events\?range=2026-03/);
    const rows = page.getByRole("table", { name: "Events" }).getByRole("row");
    await page.getByText("50 of 80 events").waitFor();
    await page.getByRole("button", { name: "Older events" }).click();
    await page.getByText("80 of 80 events").waitFor();
    expect(await rows.count()).toBe(81);
    await page.getByRole("button", { name: "model: small" }).first().click();
    await page.getByText("40 of 40 events").waitFor();
    expect(await page.getByRole("button", { name: "model: large" }).count()).toBe(0);
    await rows.nth(1).getByRole("button").first().click();
    const sheet = page.getByRole("dialog", { name: "Usage event" });
    expect(await sheet.textContent()).toContain('"model": "small"');
    await expectAccessible(page);
    expectNoTrouble(troubles);
  });

  test("other pages lead here by a record's number", async () => {
    const { data } = (await service.api("GET", "/subscriptions?search=sub-Acme")).body;
    const [{ id, client_id }] = data;
    const path = `/console/usage/events?subscription_id=${id}&from=2026-03-01T00:00:00Z&to=2026-03-03T00:00:00Z`;
    const { page, troubles } = await browser.openAs(service.admin_email, path);
    await page.getByText("Subscription is Name of sub-Acme").waitFor();
    await page.getByText("4 of 4 events").waitFor();
    await page.goto(`${service.url}/console/usage?client=${client_id}&range=2026-03`);
    await page.getByText("Client is Acme").waitFor();
    await page.getByRole("button", { name: "Remove: Client is Acme" }).click();
    await page.waitForURL(/usage\?range=2026-03$/);
    await page.goto(`${service.url}/console/usage?subscription=999999`);
    expect(await page.getByRole("alert").textContent()).toContain("999999");
    expectNoTrouble(troubles);
  });

  test("a frozen link shows another user the same; what is exported adds up to what is shown", async () => {
    const { page } = await browser.openAs(
      service.admin_email,
      "/console/usage?range=2026-03&by=client&compare=before",
    );
    const shown = await total(page);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByRole("menuitem", { name: "Copy link: these very times" }).click();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    const other = await browser.openAs(analyst_email, link.slice(service.url.length));
    expect(await total(other.page)).toBe(shown);
    expectNoTrouble(other.troubles);

    const saved = async (item: string): Promise<string> => {
      await page.getByRole("button", { name: "Share", exact: true }).click();
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name: item }).click(),
      ]);
      return Bun.file(await file.path()).text();
    };
    const table = (await saved("Table as CSV")).trim().split("\r\n");
    expect(table[0]).toStartWith("client,units,before,change,2026-02-28T16:00:00.000Z");
    expect(Number(table.at(-1)?.split(",")[1])).toBe(shown);
    const events = (await saved("Events as NDJSON")).trim().split("\n");
    expect(events.reduce((sum, line) => sum + JSON.parse(line).usage, 0)).toBe(shown);

    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByRole("menuitem", { name: "Copy as curl" }).click();
    const command = await page.evaluate<string>("navigator.clipboard.readText()");
    const body = JSON.parse(/-d '(.*)'$/s.exec(command)?.[1] ?? "null");
    expect(await expected(body)).toBe(shown);
  });

  test("views are saved, opened, changed and shared", async () => {
    const { page, troubles } = await open("&by=metadata%3Amodel&chart=share");
    const shown = await total(page);
    await page.getByRole("button", { name: "Save view" }).click();
    await page.getByLabel("Name").fill("By model");
    await page.getByLabel("For all users of the company").check();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "By model" }).waitFor();
    await page.getByLabel("Measure").selectOption("Events");
    await page.getByRole("heading", { name: "By model changed" }).waitFor();

    const other = await browser.openAs(analyst_email, "/console/usage/views");
    await other.page.getByRole("link", { name: "By model" }).click();
    expect(await total(other.page)).toBe(shown);
    expect(await other.page.getByRole("button", { name: "Shares" }).getAttribute("aria-pressed")).toBe(
      "true",
    );
    // Who may not share does not see how, and changes nobody else's.
    await other.page.getByLabel("Measure").selectOption("Events");
    await other.page.getByRole("button", { name: "Save", exact: true }).click();
    expect(await other.page.getByLabel("For all users of the company").count()).toBe(0);
    expect(await other.page.getByRole("button", { name: "Save “By model”" }).count()).toBe(0);
    await other.page.keyboard.press("Escape");
    await other.page.getByRole("link", { name: "Saved views" }).click();
    await other.page.getByRole("link", { name: "By model" }).waitFor();
    expect(await other.page.getByRole("button", { name: "Acts for By model" }).count()).toBe(0);

    await page.getByRole("link", { name: "Saved views" }).click();
    await page.getByRole("button", { name: "Acts for By model" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete view" }).click();
    await page.getByText("No saved views yet").waitFor();
    expectNoTrouble(troubles);
    expectNoTrouble(other.troubles);
  });

  test("a client's user explores, exports and saves what is its own client's alone", async () => {
    const { data } = await service.api("GET", "/clients?search=Globex").then(({ body }) => body);
    const [{ id: client_id }] = data;
    const email = "globex@example.com";
    const user = { email, password: PASSWORD, role: "client", client_id };
    expect((await service.api("POST", "/users", user)).status).toBe(201);
    const { page, troubles } = await browser.openAs(email, "/console/my/usage?range=2026-03");
    const own = await expected({
      range: { month: "2026-03" },
      filters: [{ field: "client", op: "is", values: [String(client_id)] }],
    });
    expect(await total(page)).toBe(own);
    expect(own).toBeLessThan(await expected({ range: { month: "2026-03" } }));
    expect(await page.getByLabel("Group by").getByRole("option", { name: "Client" }).count()).toBe(0);
    await page.getByLabel("Group by").selectOption("Subscription");
    await page.getByRole("table", { name: "Groups" }).getByText("sub-Globex").waitFor();
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: "Events as NDJSON" }).click(),
    ]);
    const events = (await Bun.file(await file.path()).text()).trim().split("\n");
    expect(events.reduce((sum, line) => sum + JSON.parse(line).usage, 0)).toBe(own);

    await page.getByRole("button", { name: "Save view" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("By subscription");
    expect(await page.getByLabel("For all users of the company").count()).toBe(0);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "By subscription" }).waitFor();
    await page.getByRole("link", { name: "Usage events" }).click();
    await page.getByText(`of ${DAYS * MODELS.length} events`).waitFor();
    await page.getByRole("link", { name: "Saved views" }).click();
    await page.getByRole("link", { name: "By subscription" }).click();
    expect(await total(page)).toBe(own);
    expect(new URL(page.url()).pathname).toBe("/console/my/usage");
    expectNoTrouble(troubles);
  });

  test("what the service refuses is said in place, and another question goes on", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/usage?range=never");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("range.from must be");
    await page.getByRole("group", { name: "Range" }).getByRole("button").nth(1).click();
    await page.getByRole("button", { name: "All time" }).click();
    expect(await total(page)).toBe(await expected({ range: { relative: "all" } }));
    expectNoTrouble(troubles);
  });

  test("it is for everybody: its panels, without a mouse and on a narrow screen", async () => {
    const { page } = await open("&by=client&compare=before&interval=week");
    await settle(page);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Add filter" }).press("Enter");
    await page.getByRole("group", { name: "Values that events have" }).getByText("Acme").waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("group", { name: "Range" }).getByRole("button").nth(1).press("Enter");
    await page.getByRole("button", { name: "Last quarter" }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 320, height: 700 });
    await page.getByRole("button", { name: "Measure, groups and filters" }).click();
    await page.getByLabel("Group by").waitFor();
    await expectAccessible(page);
    await expectNoOverflow(page);
  });
});
