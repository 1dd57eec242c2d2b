import { BASE, isMine } from "../../app/find_page.ts";
import { PAGES } from "../../app/pages.ts";
import { Tabs } from "../../ui/page.tsx";

const isExplorer = (path: string) => /^(\/my)?\/usage$/.test(path);
const takesQuestion = (path: string) => /^(\/my)?\/usage(\/events)?$/.test(path);

/** The pages of usage that one may see. From the explorer to its events and back one takes the question along. */
export function UsageTabs({ at }: { at: string }) {
  const pages = PAGES.filter((page) => /^(\/my)?\/usage(\/[a-z]+)?$/.test(page.path) && isMine(page));
  return (
    <Tabs
      label="Usage"
      of={pages.map(({ path, title }) => ({
        title: isExplorer(path) ? "Explorer" : title,
        href: `${BASE}${path}${takesQuestion(path) && takesQuestion(at) ? location.search : ""}`,
        is_open: path === at,
      }))}
    />
  );
}
