import type { ComponentType } from "preact";
import type { AreaName, PageProps } from "./pages.ts";

/** The pages of an area, by name. */
type Area = Record<string, ComponentType<PageProps>>;

/** Each area is a chunk that is loaded when one of its pages is first shown. */
export const AREAS: Record<AreaName, () => Promise<Area>> = {
  overview: async () => import("../pages/overview/area.ts"),
  customers: async () => import("../pages/customers.ts"),
  prices: async () => import("../pages/prices.ts"),
  bills: async () => import("../pages/bills/area.ts"),
  usage: async () => import("../pages/usage/area.ts"),
  developers: async () => import("../pages/developers/area.ts"),
  forms: async () => import("../pages/forms/area.ts"),
  my: async () => import("../pages/my/area.ts"),
  debits: async () => import("../pages/debits/area.ts"),
  loans: async () => import("../pages/loans/area.ts"),
  settings: async () => import("../pages/settings/area.ts"),
};
