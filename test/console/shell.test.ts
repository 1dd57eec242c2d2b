import { expect, test } from "bun:test";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { useKit } from "../support/console/kit.ts";
import { expectAccessible, expectNoTrouble, settle } from "../support/console/walk.ts";
import { useService } from "../support/harness.ts";

// What is around every page: navigation, keys, the palette, and what is shown in place of a page.

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
const browser = useBrowser(service);
const kit = useKit(service);

const open = async (path: string) => {
  const opened = await browser.openAs(service.admin_email, path);
  await settle(opened.page);
  return opened;
};

describeInBrowser("navigation", () => {
  test("moves the focus to the new page's heading, and says where one is", async () => {
    const { page, troubles } = await open("/console/settings");
    await page.getByRole("link", { name: "Users", exact: true }).click();
    await page.getByRole("heading", { name: "Users", exact: true }).and(page.locator(":focus")).waitFor();
    expect(await page.title()).toBe("Users – Meterhouse");
    await page.goBack();
    await page.getByRole("heading", { name: "Company", exact: true }).and(page.locator(":focus")).waitFor();
    await page
      .getByRole("navigation", { name: "Main" })
      .locator("[aria-current=page]")
      .getByText("Company")
      .waitFor();
    expectNoTrouble(troubles);
    await page.close();
  });

  test("opens and closes on a phone", async () => {
    const { page, troubles } = await browser.openAs(service.admin_email, "/console/account", {
      width: 360,
      height: 740,
    });
    await settle(page);
    const navigation = page.getByRole("navigation", { name: "Main" });
    expect(await navigation.isVisible()).toBe(false);
    await page.getByRole("button", { name: "Navigation" }).click();
    await expectAccessible(page);
    await navigation.getByRole("link", { name: "Company" }).click();
    await page.getByRole("heading", { name: "Company", exact: true }).waitFor();
    expect(await navigation.isVisible()).toBe(false);
    expectNoTrouble(troubles);
    await page.close();
  });
});

describeInBrowser("keys", () => {
  test("lead to pages, searches and new records, and can be switched off", async () => {
    const { page, troubles } = await open("/console/account");
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await page.getByRole("heading", { name: "Company", exact: true }).waitFor();
    await page.getByRole("link", { name: "Users", exact: true }).click();
    await page.getByRole("heading", { name: "Users", exact: true }).waitFor();
    await settle(page);
    await page.keyboard.press("/");
    await page.getByLabel("Email or name").and(page.locator(":focus")).waitFor();
    // Typed into a field they are letters.
    await page.keyboard.type("gs?n/");
    expect(await page.getByLabel("Email or name").inputValue()).toBe("gs?n/");
    await page.getByLabel("Email or name").fill("");
    await page.getByLabel("Email or name").blur();
    await page.keyboard.press("n");
    const dialog = page.getByRole("dialog", { name: "New user" });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await expectAccessible(page);
    await page.getByLabel("Single letters do something").uncheck();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
    await page.keyboard.press("?");
    expect(await page.getByRole("dialog").count()).toBe(0);
    // They can be switched on again without them.
    await page.getByRole("button", { name: "Account of" }).click();
    await page.getByRole("menuitem", { name: "Keys" }).click();
    await page.getByLabel("Single letters do something").check();
    expectNoTrouble(troubles);
    await page.close();
  });
});

describeInBrowser("the palette", () => {
  test("finds records, pages and acts", async () => {
    const { page, troubles } = await open("/console/account");
    await page.keyboard.press("Control+k");
    const input = page.getByRole("combobox", { name: "Find records and pages" });
    await input.fill("glob");
    await page.getByRole("option", { name: "Globex" }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Globex" }).waitFor();
    await page.keyboard.press("Control+k");
    await input.fill("user new");
    await page.getByRole("option", { name: "New user" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "New user" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Meta+k");
    await input.fill("dark");
    await page.getByRole("option", { name: "Dark colours" }).click();
    await page.locator("html[style*='dark']").waitFor();
    await page.keyboard.press("Control+k");
    await input.fill("no such thing anywhere");
    await page.getByText("Nothing found").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expectNoTrouble(troubles);
    await page.close();
  });
});

describeInBrowser("in place of a page", () => {
  test("an address that is none says so", async () => {
    for (const path of ["/console/no/such/page", "/console/clients/%E0%A4%A", "/console/clients/999999"]) {
      const { page, troubles } = await browser.openAs(service.admin_email, path);
      await page
        .getByText(/There is no such page|not found|must be/)
        .first()
        .waitFor();
      expectNoTrouble(troubles);
      await page.close();
    }
  });

  test("a mistake of a page stays in it", async () => {
    const { page } = await kit.open();
    await page.getByRole("button", { name: "Break" }).click();
    await page.getByRole("heading", { name: "This page cannot be shown" }).waitFor();
    await page.getByText("of this test").waitFor();
    await page.close();
  });
});
