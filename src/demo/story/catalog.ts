import { createAddOn } from "../../billing/add_ons/service.ts";
import { copyBillingModel, createBillingModel } from "../../billing/billing_models/service.ts";
import { updateCompany } from "../../billing/companies/service.ts";
import { createFeature } from "../../billing/features/service.ts";
import { createMeter } from "../../billing/meters/service.ts";
import { createProduct } from "../../billing/products/service.ts";
import { ADD_ONS, COST_MODEL, FEATURES, METERS, type MeterIds, PLANS, PRODUCTS } from "../cast/catalog.ts";
import { COMPANY } from "../cast/company.ts";
import type { Plot } from "./plot.ts";

/** What the company sells, at which prices, and what that costs itself. */
export function fillCatalog(plot: Plot): void {
  const { agenda, calendar } = plot;
  agenda.note(calendar.at(calendar.start.subtract({ days: 38 }), "10:00"), () => addCatalog(plot));
  agenda.note(calendar.at(calendar.month(4, 20), "14:00"), () => allowSelfService(plot));
  agenda.note(calendar.at(calendar.month(5, 3), "11:00"), () => addCostModel(plot));
  agenda.note(calendar.at(calendar.month(6, 11), "16:00"), () => addSpecialPrice(plot));
}

async function addCatalog({ world }: Plot): Promise<void> {
  const meters: MeterIds = (code) => world.id("meter", code);
  for (const [key, name] of Object.entries(PRODUCTS))
    world.name("product", key, (await world.call("manager", createProduct, { name })).id);
  for (const { ...meter } of METERS)
    world.name("meter", meter.code, (await world.call("manager", createMeter, meter)).id);
  for (const { meter, ...feature } of FEATURES) {
    const meter_id = meter === undefined ? null : meters(meter);
    await world.call("manager", createFeature, { ...feature, meter_id });
  }
  for (const { key, model } of PLANS)
    world.name("plan", key, (await world.call("manager", createBillingModel, model(meters))).id);
  for (const { add_on, meter } of ADD_ONS) {
    const charge = { ...add_on.charge, ...(meter === undefined ? {} : { meter_id: meters(meter) }) };
    const { id, code } = await world.call("manager", createAddOn, { ...add_on, charge });
    world.name("add_on", code, id);
  }
}

async function allowSelfService({ world }: Plot): Promise<void> {
  const plans = ["chat/credits", "chat/growth", "chat/business"].map((key) => world.id("plan", key));
  const self_service = { upgrade: true, downgrade: true, cancel: "period_end", plans } as const;
  await world.call("admin", updateCompany, { ...COMPANY, self_service });
}

async function addCostModel({ world }: Plot): Promise<void> {
  const meters: MeterIds = (code) => world.id("meter", code);
  world.name("plan", "cost", (await world.call("admin", createBillingModel, COST_MODEL(meters))).id);
}

/** The largest client has negotiated. */
async function addSpecialPrice({ world }: Plot): Promise<void> {
  const { id } = await world.call("manager", copyBillingModel, {
    id: world.id("plan", "chat/platform"),
    for_client_id: world.id("client", "tanjung"),
    name: "Platform for Tanjung Retail",
    price: "390",
  });
  world.name("plan", "chat/platform-tanjung", id);
}
