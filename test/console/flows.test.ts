import { beforeAll, expect, test } from "bun:test";
import { type Api, PASSWORD, useService } from "../support/harness.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { CLIENT_EMAIL, type Samples, seedCompany } from "../support/console/seed.ts";
import { expectNoTrouble, settle } from "../support/console/walk.ts";

// What people do in the console, from beginning to end, in a real browser against a real service.

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);
let samples: Samples = {};

beforeAll(async () => {
  samples = await seedCompany(service, service);
});

const subscriptionId = () => samples["/subscriptions/:id"]?.id ?? 0;

describeInBrowser("flows", () => {
  test("from an empty company to a first event on its running bill, by keyboard alone", async () => {
    const { admin_email } = await service.addTenant({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
    const { page, troubles } = await browser.open();
    await page.getByLabel("Email").focus();
    await page.keyboard.type(admin_email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByLabel("Name of the client").focus();
    await page.keyboard.type("Acme");
    await page.keyboard.press("Enter");
    await page.getByLabel("Name of the product").focus();
    await page.keyboard.type("Completions");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Take this price" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Start subscription" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Make a key" }).focus();
    await page.keyboard.press("Enter");
    const command = (await page.locator("pre code").first().textContent()) ?? "";
    // The service is in this process: waiting must not stop it.
    const sent = Bun.spawn(["bash", "-c", command], { stdout: "pipe", stderr: "ignore" });
    expect(await sent.stdout.text()).toContain("1");
    expect(await sent.exited).toBe(0);
    await page.getByText("1 event, 1,250 units").waitFor();
    expect(await page.getByText("MYR 2.50").count()).toBeGreaterThan(0);
    expectNoTrouble(troubles);
  });

  test("a change of plan is shown before it is made, and is what was shown", async () => {
    await service.api("POST", "/billing-models", {
      billing_type_id: 1,
      name: "Flat rate",
      price: "31",
      currency: "MYR",
      description: "",
    });
    const { body: before } = await service.api(
      "GET",
      `/subscriptions/${subscriptionId()}/billing-model-changes`,
    );
    const { page, troubles } = await browser.openAs(
      service.admin_email,
      `/console/subscriptions/${subscriptionId()}`,
    );
    await settle(page);
    await page.getByRole("button", { name: "Change plan" }).click();
    await page.getByRole("combobox", { name: "New billing model" }).click();
    await page.getByRole("option", { name: "Flat rate" }).click();
    await page.getByRole("radio", { name: "Now" }).check();
    const act = page.getByRole("button", { name: "Change now" });
    await act.waitFor();
    const { body: untouched } = await service.api(
      "GET",
      `/subscriptions/${subscriptionId()}/billing-model-changes`,
    );
    expect(untouched.data).toEqual(before.data);
    const shown = await page
      .getByRole("dialog")
      .getByText(/ before, .* after:/)
      .first()
      .textContent();
    await act.click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const { body: preview } = await service.api("GET", `/subscriptions/${subscriptionId()}/preview`);
    expect(shown).toContain(`${preview.data.total} after`);
    expectNoTrouble(troubles);
  });

  test("a bill is proved on its page, and leads to its adjustments and its subscription", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/bills");
    await settle(page);
    await page.locator('a[href="/console/bills/1"]').click();
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("Proved").waitFor();
    expect(await page.getByRole("table", { name: "Usage, side by side" }).count()).toBe(1);
    expectNoTrouble(troubles);
  });

  test("what the calculator says of a draft is what the saved model bills", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/billing-models/new");
    await settle(page);
    await page.getByRole("button", { name: /^Graduated/ }).click();
    await page.getByLabel("Units", { exact: true }).fill("25000");
    // 10,000 at 0.01, then 15,000 at 0.008.
    await page.getByText("MYR 220.00").first().waitFor();
    await page.getByRole("button", { name: "Save billing model" }).click();
    await page.getByRole("heading", { level: 1, name: "Growing" }).waitFor();
    await page.getByLabel("Units", { exact: true }).fill("25000");
    await page.getByText("MYR 220.00").first().waitFor();
    expectNoTrouble(troubles);
  });

  test("a double click makes one record", async () => {
    const { page } = await browser.openAs(service.admin_email, "/console/clients?new=1");
    await settle(page);
    await page.getByRole("dialog").getByLabel("Name").fill("Once Only");
    await page.getByRole("button", { name: "Add client" }).dblclick();
    await page.getByRole("heading", { level: 1, name: "Once Only" }).waitFor();
    const { body } = await service.api("GET", "/clients?search=Once%20Only&page=1");
    expect(body.meta.total).toBe(1);
  });

  test("a mandate fails, is played on, and shows what the bank says", async () => {
    const id = samples["/debits/payments/:id"]?.id ?? 0;
    const { page, troubles } = await browser.openAs(service.admin_email, `/console/debits/payments/${id}`);
    await settle(page);
    await page.getByRole("button", { name: "payment insufficient funds" }).click();
    await page.getByText("retry scheduled").first().waitFor();
    await page.getByRole("button", { name: "Debit again" }).click();
    await page.getByRole("button", { name: "Debit MYR 10.00 again" }).click();
    await page.getByText("submitted").first().waitFor();
    expectNoTrouble(troubles);
  });

  test("a client user sees its own part, and no other's", async () => {
    const client: Api = await service.signIn(CLIENT_EMAIL);
    const { page, troubles } = await browser.openAs(CLIENT_EMAIL);
    await settle(page);
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toContain("Overview");
    await page.getByRole("link", { name: "Acme, production" }).click();
    await page.getByText("Whole fees and the usage so far").first().waitFor();
    await page.goto(`${service.url}/console/clients/1`);
    await page.getByRole("heading", { name: "You may not see Client" }).waitFor();
    expect((await client("GET", "/clients/1")).status).toBe(403);
    expectNoTrouble(troubles);
  });

  test("an ended session asks to sign in again, and the page goes on", async () => {
    const { page } = await browser.openAs(service.admin_email, "/console/clients");
    await settle(page);
    await page.context().clearCookies();
    await page.getByRole("link", { name: "Products" }).click();
    await page.getByRole("heading", { name: "Sign in again" }).waitFor();
    await page.getByRole("dialog").getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("table", { name: "Products" }).waitFor();
  });
});
