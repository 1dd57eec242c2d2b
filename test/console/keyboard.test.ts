import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { addDraft, addProgram, lead, openLoans } from "../loans/applications/fixtures.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { creditModel } from "../support/console/credit_model.ts";
import { keysOf } from "../support/console/keys.ts";
import { expectNoTrouble, settle } from "../support/console/walk.ts";
import { PASSWORD, TestClock, useService } from "../support/harness.ts";

// What people come for, by keyboard alone, from signing in to the end: every stop of the focus is seen, no act loses it,
// and nothing holds it.

const clock = new TestClock("2026-03-10T04:00:00Z");
const service = useService({ clock, timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);

/** Signs in, on the page of its own or above another, whose fields have the email already. */
async function signIn(page: Page, email: string, is_again = false): Promise<void> {
  const keys = keysOf(page);
  if (!is_again) await keys.fill(page.getByLabel("Email"), email);
  await keys.fill(page.getByLabel("Password"), PASSWORD);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Sign in" }).waitFor({ state: "detached" });
  await settle(page);
}

describeInBrowser("by keyboard alone", () => {
  test("a client's user looks at a bill and takes a larger plan", async () => {
    const tenant = await service.addTenant({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
    const make = async (path: string, body: object): Promise<number> =>
      (await tenant.api("POST", path, body)).body.data.id;
    const client_id = await make("/clients", { name: "Acme" });
    const product_id = await make("/products", { name: "Completions" });
    const small = await make("/billing-models", creditModel("Small", "20", 1_000));
    const large = await make("/billing-models", creditModel("Large", "50", 4_000));
    const self_service = { upgrade: true, plans: [small, large] };
    const company = { name: "Cloud", timezone: "Asia/Kuala_Lumpur", currency: "MYR", self_service };
    expect((await tenant.api("PUT", "/company", company)).status).toBe(200);
    const id = await make("/subscriptions", {
      name: "Acme, production",
      external_subscription_id: "acme",
      client_id,
      product_id,
      billing_model_id: small,
      started_at: "2026-01-31T16:00:00Z",
    });
    await tenant.api("POST", "/billing-runs", {});
    const email = "ada@acme.example";
    await tenant.api("POST", "/users", { email, password: PASSWORD, role: "client", client_id });

    const { page, troubles } = await browser.open();
    const keys = keysOf(page);
    await signIn(page, email);
    await keys.goTo("Bills");
    await keys.use(page.getByRole("table", { name: "Bills" }).getByRole("link", { name: /^#/ }));
    await page.getByRole("heading", { level: 2, name: "MYR 20.00" }).waitFor();
    await keys.use(page.getByRole("link", { name: "Acme, production" }));
    await page.getByRole("heading", { level: 1, name: "Acme, production" }).waitFor();
    await keys.use(page.getByRole("button", { name: "Upgrade" }));
    const sheet = page.getByRole("dialog");
    // Arrow keys choose among plans.
    await keys.tabTo(sheet.getByRole("radio"));
    await keys.press("Space");
    await keys.use(sheet.getByRole("button", { name: "Upgrade now" }));
    await keys.leave(sheet);
    await keys.tabTo(page.getByRole("button", { name: "Upgrade" }));
    const { data } = (await tenant.api("GET", `/subscriptions/${id}`)).body;
    expect(data.billing_model_id).toBe(large);
    expectNoTrouble(troubles);
    await page.close();
  });

  test("a loan officer approves an application", async () => {
    const loans = await openLoans(service);
    const program = await addProgram(loans, { name: "For a car" });
    const { id } = await addDraft(loans, program.id);
    await lead(loans, id, "submitted");
    const email = "officer@example.com";
    await service.api("POST", "/users", { email, password: PASSWORD, role: "loan_officer" });

    const { page, troubles } = await browser.open();
    const keys = keysOf(page);
    await signIn(page, email);
    await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
    await keys.use(page.getByRole("table").getByRole("link", { name: "Aminah binti Ali" }));
    const dialog = page.getByRole("dialog");
    await keys.use(page.getByRole("button", { name: "Begin review" }));
    await keys.use(dialog.getByRole("button", { name: "Begin review" }));
    await keys.leave(dialog);
    await keys.use(page.getByRole("button", { name: "Approve" }));
    await keys.fill(dialog.getByLabel("Rate a year, %"), "18");
    await dialog.getByText(/^Instalment: MYR/).waitFor();
    await keys.use(dialog.getByRole("button", { name: "Approve" }));
    await keys.leave(dialog);
    await keys.tabTo(page.getByRole("link", { name: "Applications" }));
    const { data } = (await loans.lender("GET", `/lender/applications/${id}`)).body;
    expect(data.status).toBe("approved");
    expectNoTrouble(troubles);
    await page.close();
  });

  test("a company goes from its first steps to a bill that is proved", async () => {
    const { admin_email } = await service.addTenant({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
    const { page, troubles } = await browser.open();
    const keys = keysOf(page);
    await signIn(page, admin_email);
    await keys.fill(page.getByLabel("Name of the client"), "Acme");
    await keys.press("Enter");
    await keys.fill(page.getByLabel("Name of the product"), "Completions");
    await keys.press("Enter");
    await keys.use(page.getByRole("button", { name: "Take this price" }));
    await keys.use(page.getByRole("button", { name: "Start subscription" }));
    await keys.use(page.getByRole("button", { name: "Make a key" }));
    await keys.use(page.getByRole("button", { name: "Copy" }));
    const command = await page.evaluate<string>("navigator.clipboard.readText()");
    // The service is in this process: waiting must not stop it.
    const sent = Bun.spawn(["bash", "-c", command], { stdout: "pipe", stderr: "ignore" });
    expect(JSON.parse(await sent.stdout.text()).data).toMatchObject({ accepted: 1 });
    await page.getByText("1 event, 1,250 units").waitFor();
    await keys.use(page.getByRole("link", { name: "See the subscription" }));
    await page.getByRole("heading", { level: 1, name: "Acme, production" }).waitFor();

    // A month later the session is over: one signs in again, above the page.
    clock.set("2026-04-10T04:00:00Z");
    await page.keyboard.press("g");
    await page.keyboard.press("b");
    await page.getByRole("heading", { name: "Sign in again" }).waitFor();
    await signIn(page, admin_email, true);
    await keys.goTo("Billing runs");
    await page.keyboard.press("n");
    const sheet = page.getByRole("dialog");
    await keys.use(sheet.getByRole("button", { name: "Show what would be billed" }));
    await keys.use(sheet.getByRole("button", { name: "Bill now: MYR 2.50" }));
    await keys.leave(sheet);
    await keys.goTo("Bills");
    await keys.use(page.getByRole("table", { name: "Bills" }).getByRole("link", { name: /^#/ }));
    await page.getByRole("heading", { level: 2, name: "MYR 2.50" }).waitFor();
    await keys.use(page.getByRole("button", { name: "Verify" }));
    await page.getByText("Proved", { exact: true }).waitFor();
    expectNoTrouble(troubles);
    await page.close();
  });
});
