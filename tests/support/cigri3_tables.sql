-- The tables of a CiGri 3.2.1, as far as `cigri import-cigri3` reads them; types as there.
CREATE TYPE cigri3_state AS ENUM ('cancelled', 'in_treatment', 'paused', 'terminated');
CREATE TYPE cigri3_auth AS ENUM ('none', 'password', 'cert', 'jwt');
CREATE TYPE cigri3_batch AS ENUM ('oar2_5', 'g5k', 'oar3');
CREATE TYPE cigri3_job_state AS ENUM ('to_launch', 'launching', 'submitted', 'running',
    'remote_waiting', 'terminated', 'event', 'batch_waiting');
CREATE TYPE cigri3_event_state AS ENUM ('open', 'closed');
CREATE TYPE cigri3_notification AS ENUM ('mail', 'xmpp', 'log', 'irc');
CREATE TABLE clusters (id serial PRIMARY KEY, name varchar(255) NOT NULL, api_url varchar(255),
    api_auth_type cigri3_auth DEFAULT 'password', api_username varchar(255),
    api_password varchar(255), api_auth_header varchar(255), api_chunk_size int DEFAULT 100,
    api_limit int DEFAULT 100, ssh_host varchar(255), batch cigri3_batch,
    resource_unit varchar(255) DEFAULT 'resource_id', power int, properties varchar(255),
    stress_factor float, enabled boolean DEFAULT true);
CREATE TABLE users_mapping (id serial, grid_login varchar(255), cluster_login text, cluster_id int,
    PRIMARY KEY (grid_login, cluster_id));
CREATE TABLE users_priority (id serial PRIMARY KEY, grid_user varchar(255), cluster_id int,
    priority int);
CREATE TABLE user_notifications (id serial PRIMARY KEY, grid_user varchar(255),
    type cigri3_notification, identity varchar(255), severity varchar(32));
CREATE TABLE campaigns (id serial PRIMARY KEY, grid_user varchar(255), state cigri3_state,
    type varchar(255), name varchar(255), submission_time timestamp, completion_time timestamp,
    nb_jobs int, jdl text);
CREATE TABLE campaign_properties (id serial PRIMARY KEY, cluster_id int, campaign_id int,
    name varchar(255), value text);
CREATE TABLE parameters (id bigserial PRIMARY KEY, campaign_id int, name varchar(255), param text,
    UNIQUE (campaign_id, name));
CREATE TABLE bag_of_tasks (id bigserial PRIMARY KEY, campaign_id int, param_id int,
    priority int DEFAULT 10);
CREATE TABLE jobs_to_launch (id bigserial PRIMARY KEY, task_id int, cluster_id int, tag text,
    queuing_date timestamp, runner_options text, order_num int DEFAULT 1);
CREATE TABLE jobs (id bigserial PRIMARY KEY, campaign_id int, param_id int, batch_id int,
    cluster_id int, collect_id int, state cigri3_job_state, return_code int,
    submission_time timestamp, start_time timestamp, stop_time timestamp, node_name varchar(255),
    resources_used varchar(255), remote_id bigint, tag varchar(255), runner_options text);
CREATE TABLE events (id bigserial PRIMARY KEY, class varchar(32), code varchar(32),
    state cigri3_event_state, job_id int, cluster_id int, campaign_id int, parent int,
    date_open timestamp, message text);
