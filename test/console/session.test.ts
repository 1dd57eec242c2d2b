import { expect, test } from "bun:test";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { expectAccessible, expectNoTrouble, settle } from "../support/console/walk.ts";
import { PASSWORD, useService } from "../support/harness.ts";

// Signing in and out, and what an open tab does when its session or the service's build is another one.

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);

describeInBrowser("signing in", () => {
  test("leads to the page that was asked for, and out again ends the session", async () => {
    const { page, troubles } = await browser.open("/console/settings/users?search=admin");
    await settle(page);
    await expectAccessible(page);
    await page.getByLabel("Email").fill(service.admin_email);
    await page.getByLabel("Password").fill("not this one");
    await page.getByLabel("Password").press("Enter");
    await page.getByRole("alert").getByText("Invalid credentials").waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: service.admin_email }).waitFor();
    expect(page.url()).toEndWith("/console/settings/users?search=admin");
    expect(await page.title()).toBe("Users – Meterhouse");
    const [cookie] = await page.context().cookies();
    await page.getByRole("button", { name: "Account of" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    const again = await fetch(`${service.url}/api/v1/me`, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    });
    expect(again.status).toBe(401);
    expectNoTrouble(troubles);
  });

  test("is asked for above a page whose session ended, which keeps its form", async () => {
    const { page, troubles } = await browser.openAlone(service.admin_email, "/console/settings/users?new=1");
    await page.getByRole("textbox", { name: "Name" }).fill("Ada Lovelace");
    await page.getByRole("textbox", { name: "Email" }).fill("ada@example.com");
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Add user" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("Ada Lovelace");
    await page.getByRole("button", { name: "Add user" }).click();
    await page.getByRole("dialog", { name: "Invite ada@example.com?" }).waitFor();
    expectNoTrouble(troubles);
  });

  test("as somebody else leaves nothing of who was there before", async () => {
    await service.api("POST", "/users", { email: "other@example.com", password: PASSWORD, role: "analyst" });
    const { page } = await browser.openAlone(service.admin_email, "/console/settings/audit-log");
    await settle(page);
    await page.context().clearCookies();
    await page.getByLabel("Through").selectOption("Job");
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.getByLabel("Email").fill("other@example.com");
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "detached" });
    await settle(page);
    await page.getByRole("button", { name: "Account of other@example.com" }).waitFor();
    expect(page.url()).not.toContain("audit-log");
  });

  test("waits for a service that does not answer yet", async () => {
    let is_down = true;
    const { page } = await browser.openAlone(service.admin_email, "/console/account", {
      prepare: (tab) =>
        tab.route(/\/api\/v1\/me$/, (route) =>
          is_down
            ? route.fulfill({ status: 503, json: { error: "The database cannot be reached" } })
            : route.continue(),
        ),
    });
    await page.getByText("The database cannot be reached.").waitFor();
    is_down = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { name: "My account" }).waitFor();
  });
});

describeInBrowser("an open tab", () => {
  test("offers to load a newer build, and loses nothing until one does", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/settings");
    await settle(page);
    await page.getByLabel("Name").fill("Typed");
    await page.route(/\/api\/v1\//, async (route) => {
      const response = await route.fetch();
      // One that is under way when the test is over is answered already.
      await route
        .fulfill({ response, headers: { ...response.headers(), "x-meterhouse-build": "another" } })
        .catch(() => undefined);
    });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The service has a newer version of this console.").waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("Typed");
    await page.unroute(/\/api\/v1\//);
    await page.getByRole("button", { name: "Load it" }).click();
    await page.getByText("The service has a newer version of this console.").waitFor({ state: "detached" });
    expectNoTrouble(troubles);
  });

  test("is no white page when a part of the console is gone", async () => {
    const { page } = await browser.openAs(service.admin_email, "/console/account");
    await settle(page);
    await page.route(/\/console\/assets\/chunk-/, (route) => route.fulfill({ status: 404, body: "" }));
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Clients" }).click();
    await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
    await page.unroute(/\/console\/assets\/chunk-/);
    await page.getByRole("button", { name: "Load again" }).click();
    await page.getByRole("heading", { name: "Clients", exact: true }).waitFor();
  });
});
