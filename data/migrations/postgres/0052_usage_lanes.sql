CREATE TABLE "usage_lanes" (
	"lane" bigint PRIMARY KEY NOT NULL,
	"epoch" bigint NOT NULL,
	"closed_epoch" bigint NOT NULL,
	"owner_id" text,
	"owner_url" text,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"wanted_by" text,
	"least_epoch" bigint NOT NULL
);
