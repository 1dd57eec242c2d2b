import { BASE, isMine } from "../../app/find_page.ts";
import { PAGES } from "../../app/pages.ts";
import { Tabs } from "../../ui/page.tsx";

const takesQuestion = (path: string) => path === "/usage" || path === "/usage/events";

/** The pages of usage that one may see. From the explorer to its events and back one takes the question along. */
export function UsageTabs({ at }: { at: string }) {
  const pages = PAGES.filter((page) => page.path.startsWith("/usage") && isMine(page));
  return (
    <Tabs
      label="Usage"
      of={pages.map(({ path, title }) => ({
        title: path === "/usage" ? "Explorer" : title,
        href: `${BASE}${path}${takesQuestion(path) && takesQuestion(at) ? location.search : ""}`,
        is_open: path === at,
      }))}
    />
  );
}
