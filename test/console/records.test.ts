import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { addDraft, addProgram, lead, type Loans, openLoans } from "../loans/applications/fixtures.ts";
import { upload } from "../loans/documents/fixtures.ts";
import { exchange } from "../access/api_keys/fixtures.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { type Samples, seedCompany } from "../support/console/seed.ts";
import {
  expectAccessible,
  expectNoOverflow,
  expectNoTrouble,
  goTo,
  settle,
} from "../support/console/walk.ts";
import { PASSWORD, useService } from "../support/harness.ts";

// What pages of records and lists say beside the records, and what is changed on them.

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);
const OFFICER = "officer@example.com";
const MANAGER = "manager@example.com";
let samples: Samples = {};
let loans: Loans;

beforeAll(async () => {
  samples = await seedCompany(service, service);
  loans = await openLoans(service);
  for (const [email, role] of [
    [OFFICER, "loan_officer"],
    [MANAGER, "manager"],
  ])
    await service.api("POST", "/users", { email, password: PASSWORD, role });
});

/** One dot. */
const PICTURE = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
);

describeInBrowser("lists", () => {
  test("say what clients come to, and what all bills that match do", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/clients");
    const row = page.getByRole("row").filter({ hasText: "Acme with a rather long name" });
    await row.getByRole("img", { name: /units today, .* on the most used day/ }).waitFor();
    await row.getByText("2 subscriptions").waitFor();
    await row.getByRole("link", { name: /^MYR/ }).click();
    await page.getByRole("heading", { level: 1, name: /^Bill #\d+ of Acme/ }).waitFor();
    await page
      .getByRole("navigation", { name: "Main" })
      .getByRole("link", { name: "Bills", exact: true })
      .click();
    const { body } = await service.api("GET", "/billing-records?page=1&sums=true");
    const [sum] = body.meta.sums;
    await page.getByText(`Sum of all MYR ${sum.amount.replace(/\B(?=(\d{3})+\.)/g, ",")}`).waitFor();
    await page.getByRole("link", { name: "Acme, production" }).first().waitFor();
    await page.getByRole("button", { name: "Amount" }).click();
    await page
      .getByRole("columnheader", { name: "Amount", exact: true })
      .and(page.locator("[aria-sort=ascending]"))
      .waitFor();
    expectNoTrouble(troubles);
    await page.close();
  });

  test("of customers in Set-up lead to each one's mandates, and the navigation stays at theirs", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/debits/settings");
    const here = page.getByRole("navigation", { name: "Main" }).locator("[aria-current]");
    await here.getByText("Mandates").waitFor();
    await page.getByLabel("Name or email").fill("nobody");
    await page.getByRole("heading", { name: "None match" }).waitFor();
    await page.getByLabel("Name or email").fill("ahmad@");
    await page.getByRole("link", { name: "Ahmad bin Ali" }).click();
    await page.getByRole("heading", { name: "Mandates of one customer" }).waitFor();
    await page
      .getByRole("table", { name: "Mandates" })
      .getByRole("link", { name: "Ahmad bin Ali" })
      .waitFor();
    expectNoTrouble(troubles);
    await page.close();
  });

  test("of many columns scroll by themselves between phone and desk", async () => {
    expect((await service.api("POST", "/emandate/collections/run", {})).status).toBeLessThan(300);
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/debits/collections");
    for (const [path, width] of [
      ["/console/debits/collections", 730],
      ["/console/debits/payments", 730],
      ["/console/debits/collections", 700],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await goTo(page, path);
      await expectNoOverflow(page);
    }
    expectNoTrouble(troubles);
    await page.close();
  });

  test("break addresses between their parts", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/developers/webhooks");
    const address = page.getByRole("link", { name: "https://example.com/hook" });
    await address.waitFor();
    const parts = await address.evaluate((link) => link.innerHTML);
    expect(parts).toContain("https://<wbr>example.<wbr>com/<wbr>hook");
    expectNoTrouble(troubles);
    await page.close();
  });

  test("ask for the names of all that they show at once", async () => {
    const client_ids = await Promise.all(
      ["Ann", "Ben"].map(async (name) => {
        const client_id: number = (await service.api("POST", "/clients", { name })).body.data.id;
        const user = { email: `${name}@example.com`, password: PASSWORD, role: "client", client_id };
        await service.api("POST", "/users", user);
        return client_id;
      }),
    );
    const asked: string[] = [];
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/settings/users", {
      prepare: async (opened) => {
        opened.on("request", (request) => asked.push(request.url()));
      },
    });
    for (const name of ["Ann", "Ben"]) await page.getByRole("link", { name, exact: true }).waitFor();
    const ids = asked
      .filter((url) => url.includes("/clients"))
      .map((url) => new URL(url).searchParams.get("ids")?.split(",").map(Number) ?? []);
    expect(ids).toHaveLength(1);
    expect(ids[0]).toEqual(expect.arrayContaining(client_ids));
    expectNoTrouble(troubles);
    await page.close();
  });
});

describeInBrowser("records", () => {
  test("a booking's quantity is changed where it is shown, and the history says so", async () => {
    const { id } = samples["/subscriptions/:id"] ?? {};
    const { page, troubles } = await browser.openAs(service.admin_email, `/console/subscriptions/${id}`);
    await page.getByRole("button", { name: "Book add-on" }).click();
    await page.getByRole("combobox", { name: "Add-on" }).click();
    await page.getByRole("option", { name: "More seats" }).click();
    await page.getByRole("button", { name: "Book", exact: true }).click();
    const history = page.getByRole("list", { name: "History" });
    await history.getByText("subscription add on added").waitFor();
    const bookings = page.getByRole("table", { name: "Add-ons" });
    await bookings.getByRole("button", { name: "Change" }).click();
    await page.getByRole("dialog").getByLabel("Quantity").fill("7");
    await page.getByRole("button", { name: "Save" }).click();
    await history.getByText("subscription add on changed").waitFor();
    await bookings.getByRole("cell", { name: "7", exact: true }).waitFor();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("button", { name: "Remove add-on" }).click();
    await history.getByText("subscription add on removed").waitFor();
    await page.getByRole("link", { name: "All events" }).click();
    await page.getByText(`Of subscription ${id}`).waitFor();
    await page.getByRole("button", { name: "subscription.add_on_changed" }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "Who did it" }).click();
    await page.getByText(`On subscription ${id}`, { exact: true }).waitFor();
    expectNoTrouble(troubles);
    await page.close();
  });

  test("features are granted in the editor of a new model, and by one that is there", async () => {
    for (const feature of [
      { code: "sso", name: "Single sign-on", kind: "switch" },
      { code: "support", name: "Support", kind: "value" },
    ])
      await service.api("POST", "/features", feature);
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/billing-models/new");
    await page.getByRole("button", { name: /^Graduated/ }).click();
    await page.getByLabel("Name").first().fill("With features");
    await page.getByText("Charges by meters, features").click();
    const add = page.getByRole("button", { name: "Add feature" });
    await add.click();
    const first = page.getByRole("group", { name: "What it grants 1" });
    await first.getByLabel("Feature").selectOption("Input tokens");
    await first.getByLabel("At most").fill("5000");
    await first.getByLabel("In", { exact: true }).selectOption("a day");
    // What was typed for a limit is not sent for a switch.
    await first.getByLabel("Feature").selectOption("Single sign-on");
    await first.getByLabel("At most").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save billing model" }).click();
    await page.getByRole("heading", { level: 1, name: "With features" }).waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Add feature" }).click();
    const second = dialog.getByRole("group", { name: "What it grants 2" });
    await second.getByLabel("Feature").selectOption("Support");
    await second.getByLabel("Value").fill("gold");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("gold").waitFor();
    const id = page.url().split("/").at(-1);
    const { body } = await service.api("GET", `/billing-models/${id}`);
    expect(body.data.entitlements).toMatchObject([
      { feature: "sso", limit: null, window: null },
      { feature: "support", value: "gold" },
    ]);
    expectNoTrouble(troubles);
    await page.close();
  });
});

/** Our words at the end of an element are drawn forwards: each letter to the right of the one before, or below it. */
async function expectDrawnForwards(page: Page, selector: string, words: string): Promise<void> {
  await page.locator(selector).filter({ hasText: words }).first().waitFor();
  const places = await page.evaluate<{ top: number; left: number }[]>(
    `(() => { const text = [...document.querySelector(${JSON.stringify(selector)}).childNodes].findLast((node) => node.nodeType === Node.TEXT_NODE && node.data.trimEnd().endsWith(${JSON.stringify(words)})); const at = text.data.lastIndexOf(${JSON.stringify(words)}); const letters = [...${JSON.stringify(words)}].flatMap((letter, i) => (letter === " " ? [] : [at + i])); return letters.map((i) => { const range = document.createRange(); range.setStart(text, i); range.setEnd(text, i + 1); const { top, left } = range.getClientRects()[0]; return { top: Math.round(top), left }; }); })()`,
  );
  expect(places).toHaveLength(words.replaceAll(" ", "").length);
  expect(places).toEqual(places.toSorted((a, b) => a.top - b.top || a.left - b.left));
}

describeInBrowser("names that run from right to left", () => {
  test("turn neither the page around them nor what is said of them, and widen nothing", async () => {
    // It would end the isolation of the element that it is in, and then turn what follows.
    const name = `\u2069\u202Elive ${"x".repeat(120)}`;
    const { id } = (await service.api("POST", "/clients", { name })).body.data;
    const look = { width: 390, height: 800 };
    const { page, troubles } = await browser.openAs(service.admin_email, `/console/clients/${id}`, look);
    await settle(page);
    await expectNoOverflow(page);
    await page.getByRole("button", { name: "Delete" }).click();
    await expectDrawnForwards(page, "dialog .field label", "to go on");
    await page.getByRole("dialog").getByRole("textbox").fill(name);
    await page.getByRole("dialog").getByRole("button", { name: "Delete client" }).click();
    await page.locator(".toast span").filter({ hasText: "is deleted" }).waitFor();
    await expectDrawnForwards(page, ".toast span", "is deleted");
    expectNoTrouble(troubles);
    await page.close();
  });
});

describeInBrowser("two users who edit one record", () => {
  const PATH = "/console/debits/settings";

  /** Opens the dialog of the first product that debits are made from. */
  const edit = async (page: Page) => {
    await page.getByRole("button", { name: "Acts for Salary" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    return page.getByRole("dialog");
  };
  const save = async (page: Page) => {
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  };

  test("keep each other's changes, and are told where both changed the same", async () => {
    const made = await service.api("POST", "/emandate/products", {
      product_code: "SALARY",
      product_name: "Salary",
      max_amount: "500.00",
      max_no_debit: "2",
      frequency: "Monthly",
    });
    const stored = async () =>
      (await service.api("GET", `/emandate/products/${made.body.data.id}`)).body.data;
    const [admin, manager] = await Promise.all(
      [service.admin_email, MANAGER].map((email) => browser.openAs(email, PATH)),
    );
    if (admin === undefined || manager === undefined) throw new Error("No two pages");
    const dialogs = await Promise.all([edit(admin.page), edit(manager.page)]);
    await dialogs[0].getByLabel("At most").fill("900");
    await save(admin.page);
    await dialogs[0].waitFor({ state: "detached" });
    // The operation replaces the whole product: what the other form did not touch is sent as it is by now.
    await dialogs[1].getByLabel("Debits in such a period").fill("3");
    await save(manager.page);
    await dialogs[1].waitFor({ state: "detached" });
    expect(await stored()).toMatchObject({ max_amount: "900.00", max_no_debit: "3", product_name: "Salary" });

    await Promise.all([edit(admin.page), edit(manager.page)]);
    await dialogs[0].getByLabel("Code").fill("PAY");
    await save(admin.page);
    await dialogs[0].waitFor({ state: "detached" });
    await dialogs[1].getByLabel("Code").fill("WAGES");
    await dialogs[1].getByLabel("Debits in such a period").fill("4");
    await save(manager.page);
    await dialogs[1].getByText("Somebody else has changed the same meanwhile").waitFor();
    await dialogs[1].getByText("it is “PAY” now").waitFor();
    expect(await stored()).toMatchObject({ product_code: "PAY", max_no_debit: "3" });
    await save(manager.page);
    await dialogs[1].waitFor({ state: "detached" });
    expect(await stored()).toMatchObject({ product_code: "WAGES", max_no_debit: "4", max_amount: "900.00" });

    // This one keeps what it is not sent: it is sent what was changed.
    await admin.page.getByRole("button", { name: "Edit" }).click();
    await admin.page.getByLabel("Retries").fill("2");
    const sent = admin.page.waitForRequest((request) => request.method() === "PUT");
    await admin.page.getByRole("button", { name: "Save" }).click();
    expect((await sent).postDataJSON()).toEqual({ max_retries: 2 });
    for (const { page, troubles } of [admin, manager]) {
      expectNoTrouble(troubles);
      await page.close();
    }
  });

  test("lose nothing that is saved in the moment between reading the record and saving it", async () => {
    const product = {
      product_code: "RENT",
      product_name: "Rent",
      max_amount: "500.00",
      max_no_debit: "1",
      frequency: "Monthly",
    };
    const made = await service.api("POST", "/emandate/products", product);
    const address = `/emandate/products/${made.body.data.id}`;
    const { page, troubles } = await browser.openAs(service.admin_email, PATH);
    let meanwhile: object | undefined;
    const statuses: number[] = [];
    await page.route(new RegExp(`${address}$`), async (route) => {
      if (route.request().method() === "PUT" && meanwhile !== undefined) {
        const change = { ...product, ...meanwhile };
        meanwhile = undefined;
        expect((await service.api("PUT", address, change)).status).toBe(200);
      }
      await route.continue();
    });
    page.on("response", (response) => {
      if (response.request().method() === "PUT") statuses.push(response.status());
    });
    await page.getByRole("button", { name: "Acts for Rent" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog");

    // Another field: both changes stay.
    meanwhile = { max_amount: "900.00" };
    await dialog.getByLabel("Debits in such a period").fill("3");
    await save(page);
    await dialog.waitFor({ state: "detached" });
    expect(statuses).toEqual([412, 200]);
    expect((await service.api("GET", address)).body.data).toMatchObject({
      max_amount: "900.00",
      max_no_debit: "3",
    });

    // The same field: one is told, and decides.
    await page.getByRole("button", { name: "Acts for Rent" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    meanwhile = { product_code: "THEIRS" };
    await dialog.getByLabel("Code").fill("MINE");
    await save(page);
    await dialog.getByText("it is “THEIRS” now").waitFor();
    expect((await service.api("GET", address)).body.data.product_code).toBe("THEIRS");
    await save(page);
    await dialog.waitFor({ state: "detached" });
    expect((await service.api("GET", address)).body.data.product_code).toBe("MINE");
    expectNoTrouble(troubles);
    await page.close();
  });
});

describeInBrowser("loans", () => {
  test("an officer sees instalments, looks at a document, approves and disburses", async () => {
    const program = await addProgram(loans, { name: "For a car" });
    const { id } = await addDraft(loans, program.id);
    const token = (await exchange(service, loans.agent_key)).body.token;
    const sent = await upload(service, token, id, { type: "ic_front", name: "front.png", bytes: PICTURE });
    expect(sent.status).toBe(201);
    await lead(loans, id, "submitted");
    const { page, troubles } = await browser.openAs(OFFICER, "/console/loans/production/programs");
    await page.getByRole("row").filter({ hasText: "For a car" }).getByRole("button").click();
    await page.getByRole("menuitem", { name: "Instalments" }).click();
    await page.getByLabel(/^Amount/).fill("10000.00");
    // By decision 0104: an annuity of 24 months at 18 %.
    await page.getByRole("cell", { name: "MYR 499.24" }).waitFor();
    await page.keyboard.press("Escape");
    await page.goto(`${service.url}/console/loans/production/applications/${id}`);
    await page.getByRole("button", { name: "Look" }).click();
    const picture = page.getByRole("img", { name: "ic front as it was sent" });
    await picture.waitFor();
    const is_drawn = `document.querySelector("img.preview").decode().then(() => true, () => false)`;
    expect(await page.evaluate<boolean>(is_drawn)).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Begin review" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Begin review" }).click();
    await page.getByRole("button", { name: "Approve" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Rate a year, %").fill("18");
    await dialog.getByText("Instalment: MYR 499.24 a month.").waitFor();
    await dialog.getByLabel("Rate a year, %").fill("19");
    await dialog.getByText(/must be from 4.5 to 18/).waitFor();
    await dialog.getByLabel("Rate a year, %").fill("18");
    await dialog.getByRole("button", { name: "Approve" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("MYR 499.24 a month").waitFor();
    await loans.agent("POST", `/agent/applications/${id}/accept`);
    await page.reload();
    await page.getByRole("button", { name: "Disburse" }).click();
    await dialog.getByLabel("Reference of the transfer").fill("TT-77");
    await dialog.getByRole("button", { name: /^Disburse/ }).click();
    await page.getByText("TT-77").waitFor();
    await settle(page);
    expectNoTrouble(troubles);
    await page.close();
  });
});
