import { BASE, isMine } from "../app/find_page.ts";
import { PAGES } from "../app/pages.ts";
import { Tabs } from "./page.tsx";

const LABELS: Record<string, string> = {
  debits: "Direct debits",
  developers: "Developers",
  settings: "Settings",
};

/** The pages of an area that one may see, those of one record aside. `at`: the path of the one that is open. */
export function AreaTabs({ at }: { at: string }) {
  const [, area = ""] = at.split("/");
  const pages = PAGES.filter(
    (page) => page.path.split("/")[1] === area && !page.path.includes(":") && isMine(page),
  );
  return (
    <Tabs
      label={LABELS[area] ?? area}
      of={pages.map(({ path, title }) => ({ title, href: `${BASE}${path}`, is_open: path === at }))}
    />
  );
}
