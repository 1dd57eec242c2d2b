import { expect, test } from "bun:test";
import { useService } from "../../support/harness.ts";

const service = useService({ timezone: "Asia/Kuala_Lumpur", currency: "MYR" });

test("the company is read by all its company users and changed by those who may", async () => {
  const { body } = await service.api("GET", "/company");
  expect(body.data).toMatchObject({ id: service.company_id, timezone: "Asia/Kuala_Lumpur", currency: "MYR" });
  const change = { name: "Renamed", timezone: "Europe/Berlin", currency: "EUR" };
  const analyst = await service.addUser(service, "analyst");
  expect((await analyst("GET", "/company")).body.data.id).toBe(service.company_id);
  expect((await analyst("PUT", "/company", change)).status).toBe(403);
  expect((await service.api("PUT", "/company", change)).body.data).toMatchObject(change);
  expect((await service.api("GET", "/company")).body.data).toMatchObject(change);
});

test.each([
  [{ timezone: "Mars/Olympus" }, "/timezone"],
  [{ timezone: "+08:00" }, "/timezone"],
  [{ currency: "XXQ" }, "/currency"],
  [{ currency: "eur" }, "/currency"],
  [{ name: " " }, "/name"],
  [{ id: 5 }, "/id"],
])("PUT /company answers 422 naming the field: %j", async (more, path) => {
  const { status, body } = await service.api("PUT", "/company", {
    name: "x",
    timezone: "UTC",
    currency: "USD",
    ...more,
  });
  expect(status).toBe(422);
  expect(body.details[0].path).toBe(path);
});
