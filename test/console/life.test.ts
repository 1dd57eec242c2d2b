import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { expectNoTrouble, goTo, settle } from "../support/console/walk.ts";
import { PASSWORD, TestClock, useService } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";
import { proveEveryBill } from "../support/prove_bills.ts";

// The life of a company in the browser, from its first steps to a client that leaves: what people do is done there, time
// is the clock's, and what comes of itself is done by jobs.

/** At noon of a day in Kuala Lumpur. */
const noon = (day: string) => `${day}T04:00:00Z`;

const clock = new TestClock(noon("2026-03-10"));
const service = useService({ clock, timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);
const CLIENT_USER = "ada@acme.example";

/** Signs in above the page or in its place: what it is asked after each stretch of time. */
async function signIn(page: Page, email: string): Promise<void> {
  const fields = page.locator("form").filter({ has: page.getByRole("button", { name: "Sign in" }) });
  await fields.getByLabel("Email").fill(email);
  await fields.getByLabel("Password").fill(PASSWORD);
  await fields.getByRole("button", { name: "Sign in" }).click();
  await fields.waitFor({ state: "detached" });
  await settle(page);
}

/** Days pass: sessions end, and jobs do what is due. The page asks to sign in again, and goes on where it was. */
async function passTo(day: string, ...people: [page: Page, email: string][]): Promise<void> {
  clock.set(noon(day));
  for (const job of ["billing_model_changes", "billing_run", "running_bills"])
    await runNamedJob(service, job);
  for (const [page, email] of people) {
    await page.reload();
    await signIn(page, email);
  }
}

/** Pastes a command into a terminal. Returns what it printed. */
async function paste(command: string): Promise<string> {
  const shell = Bun.spawn(["bash", "-c", command], { stdout: "pipe", stderr: "ignore" });
  const printed = await shell.stdout.text();
  expect(await shell.exited).toBe(0);
  return printed;
}

/** Counts the events of the bill that is shown again. */
async function prove(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("Proved", { exact: true }).waitFor();
}

/** Opens the bill of a list that has these words, and proves it. */
async function proveBill(page: Page, words: string, sum: string): Promise<void> {
  await goTo(page, "/console/bills");
  const row = page.getByRole("table", { name: "Bills" }).getByRole("row").filter({ hasText: words });
  await row.getByRole("link").first().click();
  await page.getByRole("heading", { level: 2, name: sum }).waitFor();
  await prove(page);
}

describeInBrowser("the life of a company", () => {
  test("goes from its first steps to the last bill of a client that leaves, and every bill is proved", async () => {
    const { page, troubles } = await browser.open();

    // First steps: a client, a product, a price, a subscription, and a program's first event.
    await signIn(page, service.admin_email);
    await page.getByLabel("Name of the client").fill("Acme");
    await page.getByRole("button", { name: "Add client" }).click();
    await page.getByLabel("Name of the product").fill("Completions");
    await page.getByRole("button", { name: "Add product" }).click();
    await page.getByRole("button", { name: "Take this price" }).click();
    await page.getByRole("button", { name: "Start subscription" }).click();
    await page.getByRole("button", { name: "Make a key" }).click();
    const command = (await page.locator("pre code").textContent()) ?? "";
    const send = async (units: number, more = "") => {
      const printed = await paste(command.replace('"usage": 1250', `"usage": ${units}${more}`));
      expect(JSON.parse(printed).data).toMatchObject({ accepted: 1 });
    };
    await send(1_250);
    await page.getByText("1 event, 1,250 units").waitFor();
    await page.getByRole("link", { name: "See the subscription" }).click();
    await page.getByRole("heading", { level: 1, name: "Acme, production" }).waitFor();

    // The company lets clients leave, and invites one's user, who sees what the month comes to so far.
    await goTo(page, "/console/settings");
    await page.getByLabel("Cancel", { exact: true }).selectOption("With the running period");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved").first().waitFor();
    await goTo(page, "/console/settings/users");
    await page.getByRole("button", { name: "New user" }).click();
    await page.getByRole("textbox", { name: "Email", exact: true }).fill(CLIENT_USER);
    await page.getByLabel("Role").selectOption("Client user");
    await page.getByRole("combobox", { name: "Client" }).click();
    await page.getByRole("option", { name: "Acme" }).click();
    await page.getByRole("button", { name: "Add user" }).click();
    await page.getByRole("button", { name: "Make link" }).click();
    await page.getByRole("button", { name: "Copy" }).click();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    await page.getByRole("button", { name: "I have kept it" }).click();
    const ada = await browser.open(link.slice(link.indexOf("/console/link#")));
    await ada.page.getByLabel("New password").fill(PASSWORD);
    await ada.page.getByRole("button", { name: "Set password and sign in" }).click();
    await ada.page.getByRole("table", { name: "Subscriptions" }).getByText("MYR 2.50").waitFor();

    // A month passes, and its bill is written by itself.
    await send(10_000);
    await passTo("2026-04-10", [page, service.admin_email], [ada.page, CLIENT_USER]);
    await proveBill(page, "Acme, production", "MYR 22.50");

    // An hour later a program sends what it kept since March: another run finds it, and the adjustment is proved too.
    clock.set("2026-04-10T05:00:00Z");
    await send(500, `, "timestamp": ${Temporal.Instant.from(noon("2026-03-20")).epochMilliseconds}`);
    await goTo(page, "/console/billing-runs");
    await page.getByRole("button", { name: "Run billing" }).click();
    await page.getByLabel("Month").fill("2026-03");
    await page.getByRole("button", { name: "Show what would be billed" }).click();
    await page.getByRole("button", { name: "Bill now: MYR 1.00" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await proveBill(page, "Adjustment", "MYR 1.00");

    // From the next period on there is another price: what one typed was rated at once.
    await goTo(page, "/console/billing-models/new");
    await page.getByRole("button", { name: /^Pro/ }).click();
    await page.getByLabel(/^Units/).fill("3000");
    await page.getByText("MYR 80.00").first().waitFor();
    await page.getByRole("button", { name: "Save billing model" }).click();
    await page.getByRole("heading", { level: 1, name: "Pro" }).waitFor();
    await goTo(page, "/console/subscriptions/1");
    await page.getByRole("button", { name: "Change plan" }).click();
    await page.getByRole("combobox", { name: "New billing model" }).click();
    await page.getByRole("option", { name: "Pro" }).click();
    await page.getByRole("button", { name: "Change as scheduled" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await passTo("2026-05-10", [page, service.admin_email], [ada.page, CLIENT_USER]);
    await send(3_000);

    // The client's user sees its bills and the credits used up, and leaves with the running period.
    await goTo(ada.page, "/console/my/bills");
    await ada.page.getByRole("table", { name: "Bills" }).getByText("MYR 22.50").waitFor();
    await goTo(ada.page, "/console/my/subscriptions/1");
    await ada.page.getByText("MYR 80.00").first().waitFor();
    await ada.page.getByRole("button", { name: "Cancel" }).click();
    await ada.page.getByRole("button", { name: "Cancel as scheduled, last bill MYR 80.00" }).click();
    await ada.page.getByRole("dialog").waitFor({ state: "detached" });
    await passTo("2026-06-11", [page, service.admin_email], [ada.page, CLIENT_USER]);
    await goTo(ada.page, "/console/my/subscriptions/1");
    await ada.page.getByText("cancelled", { exact: true }).waitFor();
    await proveBill(page, "31 May", "MYR 80.00");

    // What was billed adds up, and the audit log knows whose doing it was.
    await goTo(page, "/console/revenue");
    await page.getByRole("heading", { level: 2, name: "MYR 103.50 in 4 bills" }).waitFor();
    await goTo(page, "/console/settings/audit-log");
    await page.getByRole("row").filter({ hasText: CLIENT_USER }).first().waitFor();
    expect(await proveEveryBill(service.deps)).toEqual({ bills: 4, unproved: [] });
    expectNoTrouble(troubles);
    expectNoTrouble(ada.troubles);
  });
});
