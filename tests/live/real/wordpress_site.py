"""A WordPress with posts, comments and a theme, on php-fpm with its JIT behind nginx, on loopback.

WordPress's own code (Debian's package `wordpress`, or a folder that has it) is copied; its database
is a MariaDB of its own, without a network. Everything lies in one folder and ends with stop().
"""

import os
import shutil
import subprocess
import time

from workloads import free_port, write

PHP_FPM = "php-fpm8.2"
PROGRAMS = (PHP_FPM, "php8.2", "nginx", "ab", "mariadbd", "mariadb-install-db", "mariadb")
START_S = 60
USER = "www-data"

FASTCGI = """
fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method;
fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length;
fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_param SCRIPT_NAME $fastcgi_script_name;
fastcgi_param REQUEST_URI $request_uri; fastcgi_param DOCUMENT_ROOT $document_root;
fastcgi_param SERVER_PROTOCOL $server_protocol; fastcgi_param REMOTE_ADDR $remote_addr;
fastcgi_param SERVER_NAME 127.0.0.1; fastcgi_param SERVER_PORT $server_port; fastcgi_param HTTP_HOST $http_host;
"""

# Nothing of it leaves the machine: no updates, no cron jobs, no requests to other hosts.
CONFIG = """<?php
define('DB_NAME', 'wordpress'); define('DB_USER', 'root'); define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{folder}/database.sock');
define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true); define('WP_AUTO_UPDATE_CORE', false);
define('WP_SITEURL', 'http://127.0.0.1:{port}'); define('WP_HOME', 'http://127.0.0.1:{port}');
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', '{folder}/site/');
require_once ABSPATH . 'wp-settings.php';
"""

INSTALL = """<?php
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = '127.0.0.1:{port}';
$_SERVER['REQUEST_URI'] = '/';
function wp_mail(...$mail) {{ return true; }}
require '{folder}/site/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('A blog', 'writer', 'writer@example.invalid', true, '', 'secret');
switch_theme('twentytwentythree');
for ($i = 0; $i < 40; $i++) {{
    $text = '';
    for ($k = 0; $k < 8; $k++)
        $text .= "<!-- wp:paragraph --><p>It's number $i, \\"part\\" $k -- with <em>words</em>, http://example.invalid/$k & :-) more...</p><!-- /wp:paragraph -->\\n\\n";
    $post = wp_insert_post(['post_title' => "Post $i", 'post_content' => $text, 'post_status' => 'publish', 'post_author' => 1]);
    for ($k = 0; $k < 10; $k++)
        wp_insert_comment(['comment_post_ID' => $post, 'comment_author' => "Reader $k", 'comment_content' => "Isn't $k \\"good\\"?",
                           'comment_approved' => 1]);
}}
echo wp_count_posts()->publish;
"""


class Site:
    """Starts with start(), to be ended by stop() in any case."""

    def __init__(self, source, folder, jit):
        self.source, self.folder, self.jit = source, folder, jit
        self.port = free_port()
        self.programs = []

    def start(self):
        os.chmod(self.folder, 0o755)
        shutil.copytree(self.source, f"{self.folder}/site", symlinks=False, ignore_dangling_symlinks=True)
        write(self.folder, "site/wp-config.php", CONFIG.format(folder=self.folder, port=self.port))
        self.start_database()
        install = write(self.folder, "install.php", INSTALL.format(folder=self.folder, port=self.port))
        done = subprocess.run(["php8.2", install], capture_output=True, text=True, check=False)
        if done.returncode or not done.stdout.strip().endswith("41"):
            raise RuntimeError("WordPress could not be installed: " + done.stdout[-500:] + done.stderr[-500:])
        self.start_servers()

    def start_database(self):
        data = f"{self.folder}/database"
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-test-db",
                        "--auth-root-authentication-method=normal"], check=True, capture_output=True)
        self.run("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={self.folder}/database.sock", "--user=root",
                 "--skip-networking", "--innodb-flush-log-at-trx-commit=0", f"--pid-file={self.folder}/database.pid")
        create = ["mariadb", "--no-defaults", "-u", "root", f"--socket={self.folder}/database.sock", "-e",
                  "CREATE DATABASE wordpress"]
        self.wait(lambda: subprocess.run(create, capture_output=True, check=False).returncode == 0, "the database")

    def start_servers(self):
        write(self.folder, "fpm.conf", f"""[global]
error_log = {self.folder}/fpm.log
daemonize = no
[www]
user = {USER}
group = {USER}
listen = {self.folder}/fpm.sock
listen.mode = 0666
pm = static
pm.max_children = 2
""")
        write(self.folder, "nginx.conf", f"""
daemon off; worker_processes 1; pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log; user {USER};
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {self.folder}/body; fastcgi_temp_path {self.folder}/fastcgi;
  fastcgi_buffers 64 16k;
  server {{ listen 127.0.0.1:{self.port}; root {self.folder}/site; index index.php;
    location / {{ try_files $uri $uri/ /index.php?$args; }}
    location ~ \\.php$ {{ fastcgi_pass unix:{self.folder}/fpm.sock; {FASTCGI} }}
  }}
}}
""")
        self.run(PHP_FPM, "-y", f"{self.folder}/fpm.conf", "-d", "opcache.enable=1", "-d", f"opcache.jit={self.jit}",
                 "-d", "opcache.jit_buffer_size=64M", "-d", "opcache.validate_timestamps=0")
        self.run("nginx", "-p", self.folder, "-c", f"{self.folder}/nginx.conf")
        self.wait(self.answers, "the site")

    def run(self, *command):
        # pylint: disable=consider-using-with
        self.programs.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                              stderr=subprocess.DEVNULL, start_new_session=True))

    def load(self, clients, *options, path="/"):
        return subprocess.run(["ab", "-q", "-l", "-c", str(clients), *options, f"http://127.0.0.1:{self.port}{path}"],
                              capture_output=True, text=True, check=False)

    def answers(self):
        answer = self.load(1, "-n", "5").stdout
        return "Failed requests:        0\n" in answer and "Non-2xx" not in answer

    def load_in_background(self, seconds):
        """Two kinds of pages: the blog, and one post with its comments."""
        for path in ("/", "/?p=7"):
            self.run("ab", "-q", "-l", "-c", "2", "-t", str(seconds), "-n", "1000000", f"http://127.0.0.1:{self.port}{path}")

    def wait(self, condition, what):
        end = time.monotonic() + START_S
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{what} did not start")
            time.sleep(0.2)

    def stop(self):
        for program in reversed(self.programs):
            program.terminate()
        for program in self.programs:
            try:
                program.wait(timeout=START_S)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
