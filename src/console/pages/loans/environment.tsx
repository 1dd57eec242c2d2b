import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { BASE } from "../../app/find_page.ts";
import { Tabs } from "../../ui/page.tsx";

const PARTS = [
  ["applications", "Applications"],
  ["programs", "Programs"],
  ["consents", "Consent texts"],
] as const;

const STAGING_ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' fill='%23c2530a'/%3E%3Cpath fill='white' d='M3 13V7l5-4 5 4v6h-3V9H6v4z'/%3E%3C/svg%3E";

/** Staging wears a band and an icon of its own, so that nobody takes it for the real thing. */
export function Environment({ of, at, children }: { of: string; at: string; children: ComponentChildren }) {
  const is_staging = of === "staging";
  useEffect(() => {
    if (!is_staging) return undefined;
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    const before = icon?.href ?? "";
    if (icon) icon.href = STAGING_ICON;
    return () => {
      if (icon) icon.href = before;
    };
  }, [is_staging]);
  return (
    <>
      {is_staging && (
        <div class="band" role="note">
          Staging: nothing here is real.
        </div>
      )}
      <Tabs
        label="Loans"
        of={[
          ...PARTS.map(([path, title]) => ({
            title,
            href: `${BASE}/loans/${of}/${path}`,
            is_open: path === at,
          })),
          {
            title: is_staging ? "To production" : "To staging",
            href: `${BASE}/loans/${is_staging ? "production" : "staging"}/${at}`,
            is_open: false,
          },
        ]}
      />
      {children}
    </>
  );
}

/** A page's title, which says where it is. */
export const titleIn = (environment: string, title: string): string =>
  environment === "staging" ? `${title} (staging)` : title;
