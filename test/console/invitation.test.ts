import { expect, test } from "bun:test";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { expectAccessible, expectNoOverflow, expectNoTrouble, settle } from "../support/console/walk.ts";
import { useService } from "../support/harness.ts";

const service = useService();
const browser = useBrowser(service);

describeInBrowser("a user who was invited", () => {
  test("chooses a password by the link that the admin passes on, and is signed in", async () => {
    const admin = await browser.openAs(service.admin_email, "/console/settings/users");
    const { page } = admin;
    await settle(page);
    await page.getByRole("button", { name: "New user" }).click();
    await page.getByRole("dialog").getByLabel("Email").fill("ada@example.com");
    await page.getByRole("button", { name: "Add user" }).click();
    await page.getByRole("button", { name: "Make link" }).click();
    await page.getByText("Pass it on to ada@example.com alone").waitFor();
    await expectAccessible(page);
    expect(await page.getByText("/console/link#").count()).toBe(0);
    await page.getByRole("button", { name: "Copy" }).click();
    const url = await page.evaluate<string>("navigator.clipboard.readText()");
    await page.getByRole("button", { name: "I have kept it" }).click();
    expectNoTrouble(admin.troubles);

    const path = url.slice(url.indexOf("/console/link#"));
    const ada = await browser.open(path);
    expect(await ada.page.getByLabel("Email").inputValue()).toBe("ada@example.com");
    await expectAccessible(ada.page);
    await ada.page.setViewportSize({ width: 320, height: 800 });
    await expectNoOverflow(ada.page);
    await ada.page.setViewportSize({ width: 1280, height: 900 });
    await ada.page.getByLabel("New password").fill("short");
    await ada.page.getByRole("button", { name: "Set password and sign in" }).click();
    await ada.page.getByLabel("New password").and(ada.page.locator("[aria-invalid=true]")).waitFor();
    await ada.page.getByLabel("New password").fill("a password of one's own");
    await ada.page.getByRole("button", { name: "Set password and sign in" }).click();
    await ada.page.getByRole("navigation", { name: "Main" }).waitFor();
    expect(ada.page.url()).not.toContain("#");
    expectNoTrouble(ada.troubles);

    const late = await browser.open(path);
    await late.page.getByText("The link was used, replaced by another or has expired").waitFor();
    await expectAccessible(late.page);
    expect(await late.page.getByLabel("New password").count()).toBe(0);
    const { body } = await service.api("GET", "/users?search=ada");
    expect(body.data).toMatchObject([{ email: "ada@example.com", role: "analyst" }]);
  });
});
