import { beforeAll, expect, test } from "bun:test";
import { type Api, PASSWORD, useService } from "../support/harness.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { creditModel } from "../support/console/credit_model.ts";
import { CLIENT_EMAIL, type Samples, seedCompany } from "../support/console/seed.ts";
import { expectNoTrouble, settle } from "../support/console/walk.ts";
import { addWebhook, openReceiver } from "../support/webhook_receiver.ts";

// What people do in the console, from beginning to end, in a real browser against a real service.

// In development webhooks of this machine may be called.
const env = { NODE_ENV: "development" };
const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR", env });
const browser = useBrowser(service);
let samples: Samples = {};

beforeAll(async () => {
  samples = await seedCompany(service, service);
});

const subscriptionId = () => samples["/subscriptions/:id"]?.id ?? 0;

const TIERS = [
  { up_to: "1000", unit_price: "0.10", flat_fee: "2" },
  { up_to: null, unit_price: "0.08", flat_fee: "3" },
];

/** The first day of last month in the company's zone, from when on subscriptions run. */
const last_month = Temporal.Now.zonedDateTimeISO("Asia/Kuala_Lumpur")
  .with({ day: 1 })
  .startOfDay()
  .subtract({ months: 1 });

interface Subscribed {
  id: number;
  /** Last month, as it is billed. */
  month: string;
  /** Sends usage of last month. */
  use: (units: string) => Promise<unknown>;
}

/** A subscription to a model since last month. */
async function subscribe(name: string, billing_model_id: number): Promise<Subscribed> {
  const { status, body } = await service.api("POST", "/subscriptions", {
    name,
    external_subscription_id: name,
    client_id: samples["/clients/:id"]?.id,
    product_id: samples["/products/:id"]?.id,
    billing_model_id,
    started_at: last_month.toInstant().toString(),
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const timestamp = last_month.add({ days: 3 }).epochMilliseconds;
  return {
    id: body.data.id,
    month: last_month.toPlainDate().toPlainYearMonth().toString(),
    use: (units) =>
      service.api("POST", "/usage/events", [
        { external_subscription_id: name, timestamp, usage: Number(units) },
      ]),
  };
}

/** Bills last month at each of the models, with so many units. Returns each model's id and bill. */
async function billMonths(
  models: Record<string, object>,
  units: string,
): Promise<Record<string, { model: number; total: string }>> {
  const of_models = Object.entries(models).map(async ([type, terms]) => {
    const model = { price: "0", currency: "MYR", description: "", name: `Billed ${type}`, ...terms };
    const { id } = (await service.api("POST", "/billing-models", model)).body.data;
    const subscribed = await subscribe(`billed-${type}`, id);
    await subscribed.use(units);
    return [type, id, subscribed.id] as const;
  });
  const made = await Promise.all(of_models);
  await service.api("POST", "/billing-runs", { subscription_ids: made.map(([, , id]) => id) });
  const bills = made.map(async ([type, model, id]) => {
    const { data } = (await service.api("GET", `/billing-records?subscription_id=${id}&page=1`)).body;
    return [type, { model, total: data[0].totalCharges }] as const;
  });
  return Object.fromEntries(await Promise.all(bills));
}

describeInBrowser("flows", () => {
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

  test("what the calculator says of each type is what a month at it is billed", async () => {
    const units = "1234";
    const billed = await billMonths(
      {
        flat: { billing_type_id: 1, price: "31" },
        per_unit: { billing_type_id: 2, price: "0.0301", recurring_fee: "5", free_units: "34" },
        graduated: { billing_type_id: 3, usage_tiers: TIERS },
        volume: { billing_type_id: 4, usage_tiers: TIERS },
        package: { billing_type_id: 5, price: "7.77", package_size: "100" },
        credit: creditModel("Billed credit", "20", 1_000),
      },
      units,
    );
    for (const [type, { model, total }] of Object.entries(billed)) {
      const { page, troubles } = await browser.openAs(
        service.admin_email,
        `/console/billing-models/${model}`,
      );
      if (type !== "flat") await page.getByLabel(/^Units/).fill(units);
      const sum = page.getByText(`Total MYR ${total}`, { exact: true });
      await sum.waitFor();
      expectNoTrouble(troubles);
      await page.close();
    }
  });

  test("what an upgrade shows is what it writes: credits, and the bill", async () => {
    const add = (model: object) => service.api("POST", "/billing-models", model);
    const { id: small } = (await add(creditModel("Small credits", "20", 1_000))).body.data;
    await add(creditModel("Large credits", "50", 4_000));
    const { id } = await subscribe("upgraded", small);
    const { page, troubles } = await browser.openAs(service.admin_email, `/console/subscriptions/${id}`);
    await page.getByRole("button", { name: "Change plan" }).click();
    await page.getByRole("combobox", { name: "New billing model" }).fill("large");
    await page.getByRole("option", { name: "Large credits" }).click();
    await page.getByRole("radio", { name: /^As an upgrade/ }).check();
    const dialog = page.getByRole("dialog");
    const act = dialog.getByRole("button", { name: "Upgrade now" });
    await act.waitFor();
    const shown = await dialog
      .getByText(/ before, .* after:/)
      .last()
      .textContent();
    const added = await dialog.locator("dt:text-is('Credits added this month') + dd").textContent();
    await act.click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Upgrade from").waitFor();
    const { data: changes } = (await service.api("GET", `/subscriptions/${id}/billing-model-changes`)).body;
    expect(added).toBe(changes[0].credits_added.toLocaleString("en-GB"));
    const { total } = (await service.api("GET", `/subscriptions/${id}/preview`)).body.data;
    expect(shown).toContain(`${total} after`);
    expectNoTrouble(troubles);
  });

  test("a run is tried and made, a late event is adjusted, and both bills are proved", async () => {
    const { body } = await service.api("POST", "/billing-models", {
      billing_type_id: 2,
      name: "By the unit",
      price: "0.5",
      currency: "MYR",
      description: "",
    });
    // What is due of others is billed before.
    await service.api("POST", "/billing-runs", {});
    const { id, month, use } = await subscribe("late", body.data.id);
    await use("10");
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/billing-runs");
    const run = async (wanted: string, sum: string) => {
      await page.getByRole("button", { name: "Run billing" }).click();
      const sheet = page.getByRole("dialog");
      await sheet.getByLabel("Month").fill(wanted);
      await sheet.getByRole("button", { name: "Show what would be billed" }).click();
      await sheet.getByRole("button", { name: `Bill now: ${sum}` }).click();
      await sheet.waitFor({ state: "detached" });
    };
    await run(month, "MYR 5.00");
    await use("2");
    await run(month, "MYR 1.00");
    await page.goto(`${service.url}/console/subscriptions/${id}`);
    const bills = page.getByRole("table", { name: "Bills" });
    await bills.getByRole("row").filter({ hasText: "Adjustment" }).getByRole("link").click();
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("Proved").waitFor();
    await page.getByText("MYR 1.00").first().waitFor();
    await page.getByRole("link", { name: /^bill #/ }).click();
    await page.getByText("MYR 5.00").first().waitFor();
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("Proved").waitFor();
    await page.getByRole("table", { name: "Other bills of this period" }).getByText("Adjustment").waitFor();
    expectNoTrouble(troubles);
  });

  test("a message that was not delivered is sent again by hand", async () => {
    const receiver = openReceiver();
    // It wants no more: its webhook is switched off.
    receiver.answer(() => new Response("gone", { status: 410 }));
    await addWebhook(service.api, receiver.url, ["product.created"]);
    await service.api("POST", "/products", { name: "Told of" });
    await receiver.calls(1);
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/developers/webhooks");
    const webhook = page.getByRole("row").filter({ hasText: receiver.url });
    const disabled = webhook.getByText("disabled", { exact: true });
    while ((await disabled.count()) === 0) {
      await page.reload();
      await webhook.waitFor();
    }
    receiver.answer(() => new Response("thanks"));
    await webhook.getByRole("button").click();
    await page.getByRole("menuitem", { name: "Switch on" }).click();
    await webhook.getByText("active", { exact: true }).waitFor();
    await webhook.getByRole("link", { name: receiver.url }).click();
    const delivery = page.getByRole("row").filter({ hasText: receiver.url });
    await delivery.filter({ hasText: "failed" }).getByRole("button").click();
    const sheet = page.getByRole("dialog", { name: "product.created" });
    await sheet.getByRole("cell", { name: "410" }).waitFor();
    await sheet.getByRole("button", { name: "Deliver again" }).click();
    await sheet.waitFor({ state: "detached" });
    await receiver.calls(2);
    const succeeded = delivery.getByText("succeeded", { exact: true });
    while ((await succeeded.count()) === 0) {
      await page.reload();
      await delivery.first().waitFor();
    }
    await receiver.stop();
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

  test("what somebody else did meanwhile is said, and shown behind what was refused", async () => {
    const { body } = await service.api("GET", "/billing-models?page=1");
    const { id } = await subscribe("raced", body.data[0].id);
    const { page, troubles } = await browser.openAs(service.admin_email, `/console/subscriptions/${id}`);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    const sheet = page.getByRole("dialog");
    const act = sheet.getByRole("button", { name: /^Cancel as scheduled/ });
    await act.waitFor();
    expect((await service.api("POST", `/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(200);
    expect(await page.locator("main").getByText("cancelled", { exact: true }).count()).toBe(0);
    await act.click();
    await sheet
      .getByRole("alert")
      .getByText(/^Cannot cancel subscription/)
      .waitFor();
    await page.locator("main").getByText("cancelled", { exact: true }).waitFor();
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
