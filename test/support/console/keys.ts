import { expect } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { settle } from "./walk.ts";

/** More stops than any page has on the way to something. */
const MOST_STOPS = 150;

/**
 * Where the focus is: what has it, by its words, and whether that is seen: drawn, within the window, and marked; headings
 * that are read out after a change of page need no mark,
 * and parts of a date are marked by the browser. Null: nothing has it.
 */
const FOCUSED = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body || element === document.documentElement) return null;
  const name = element.tagName + " " + (element.getAttribute("aria-label") ?? element.textContent ?? "").trim().slice(0, 60) + (element.id ? " #" + element.id : "");
  const { width, height, top, left, bottom, right } = element.getBoundingClientRect();
  const is_heading = element.tabIndex < 0;
  const is_drawn = is_heading || width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  const { outlineStyle, outlineWidth, visibility } = getComputedStyle(element);
  const is_marked = is_heading || /^(date|month|datetime-local)$/.test(element.type) || (outlineStyle !== "none" && parseFloat(outlineWidth) > 0);
  return { name, is_seen: is_drawn && visibility === "visible" && is_marked };
})()`;

interface Focus {
  name: string;
  is_seen: boolean;
}

/** Someone who has a keyboard and nothing else. */
export function keysOf(page: Page) {
  const focus = () => page.evaluate<Focus | null>(FOCUSED);
  const has = async (wanted: Locator) => (await wanted.and(page.locator(":focus")).count()) > 0;

  /** Goes from stop to stop until it is there. Each stop is seen, and none holds the focus. */
  const tabTo = async (wanted: Locator): Promise<void> => {
    await wanted.first().waitFor();
    const passed: string[] = [];
    while (!(await has(wanted))) {
      if (passed.length > MOST_STOPS)
        throw new Error(`${wanted.toString()} is not reached: ${passed.slice(-20).join(", ")}`);
      await page.keyboard.press("Tab");
      const now = await focus();
      // After the last stop comes the browser's own window.
      passed.push(now?.name ?? "the window");
      expect({ now, passed }).toEqual({ now: now && { ...now, is_seen: true }, passed });
    }
  };

  /** Once what an act does is there, the focus is somewhere, and seen. */
  const keep = async (after: string): Promise<void> => {
    await settle(page);
    // A dialog that closes, or a page that comes, gives the focus on with its effects.
    let now = await focus();
    for (let tries = 0; now === null && tries < 100; tries++) {
      await page.waitForTimeout(20);
      now = await focus();
    }
    expect({ after, now }).toEqual({ after, now: { name: now?.name ?? "something", is_seen: true } });
  };

  return {
    tabTo,
    async press(key: string): Promise<void> {
      await page.keyboard.press(key);
      await keep(key);
    },
    /** Waits until a dialog is done with: the focus is back on the page. */
    async leave(dialog: Locator): Promise<void> {
      await dialog.waitFor({ state: "detached" });
      await keep("a dialog");
    },
    /** Goes to a button or link, and presses Enter. */
    async use(wanted: Locator): Promise<void> {
      await tabTo(wanted);
      await this.press("Enter");
    },
    /** Goes to a field, and types into it in place of what is there. */
    async fill(wanted: Locator, text: string): Promise<void> {
      await tabTo(wanted);
      await page.keyboard.press("Control+a");
      await page.keyboard.type(text);
    },
    /** Goes to a page by the palette, and waits until its heading is read out. */
    async goTo(words: string): Promise<void> {
      await page.keyboard.press("Control+k");
      await page
        .getByRole("combobox", { name: "Find records and pages" })
        .and(page.locator(":focus"))
        .waitFor();
      await page.keyboard.type(words);
      await page.getByRole("option", { name: words }).first().waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: words }).and(page.locator(":focus")).waitFor();
    },
  };
}
