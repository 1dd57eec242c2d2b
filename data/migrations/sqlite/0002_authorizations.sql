CREATE TABLE `agents` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`public_id` text NOT NULL,
	`name` text,
	`redirect_uris` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agents_public_id` ON `agents` (`public_id`);--> statement-breakpoint
CREATE INDEX `agents_created` ON `agents` (`created_at`);--> statement-breakpoint
CREATE TABLE `authorization_requests` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`hash` text NOT NULL,
	`agent_id` integer NOT NULL,
	`redirect_uri` text NOT NULL,
	`code_challenge` text NOT NULL,
	`state` text,
	`expires_at` text NOT NULL,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `authorization_requests_hash` ON `authorization_requests` (`hash`);--> statement-breakpoint
CREATE INDEX `authorization_requests_agent` ON `authorization_requests` (`agent_id`);--> statement-breakpoint
CREATE INDEX `authorization_requests_expiry` ON `authorization_requests` (`expires_at`);--> statement-breakpoint
CREATE TABLE `authorization_tokens` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`authorization_id` integer NOT NULL,
	`kind` text NOT NULL,
	`hash` text NOT NULL,
	`expires_at` text NOT NULL,
	`used_at` text,
	FOREIGN KEY (`authorization_id`) REFERENCES `authorizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `authorization_tokens_hash` ON `authorization_tokens` (`hash`);--> statement-breakpoint
CREATE INDEX `authorization_tokens_authorization` ON `authorization_tokens` (`authorization_id`);--> statement-breakpoint
CREATE INDEX `authorization_tokens_expiry` ON `authorization_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `authorizations` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`company_id` integer NOT NULL,
	`user_id` integer NOT NULL,
	`agent_id` integer NOT NULL,
	`redirect_uri` text NOT NULL,
	`code_challenge` text NOT NULL,
	`expires_at` text NOT NULL,
	`ended_at` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`company_id`) REFERENCES `companies`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`agent_id`) REFERENCES `agents`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `authorizations_user` ON `authorizations` (`company_id`,`user_id`,`id`);--> statement-breakpoint
CREATE INDEX `authorizations_agent` ON `authorizations` (`agent_id`);--> statement-breakpoint
CREATE INDEX `authorizations_expiry` ON `authorizations` (`company_id`,`expires_at`);--> statement-breakpoint
ALTER TABLE `audit_log` ADD `authorization_id` integer;