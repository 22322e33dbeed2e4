"""The network intrusions of the KDD Cup 1999, the 10 % subset, with their column names and text values."""

from __future__ import annotations

from driftway.producers.streams.catalogue.entry import DownloadSource, Entry

COLUMNS = (
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot num_failed_logins "
    "logged_in num_compromised root_shell su_attempted num_root num_file_creations num_shells num_access_files "
    "num_outbound_cmds is_host_login is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate "
    "srv_rerror_rate same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count "
    "dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate dst_host_srv_diff_host_rate "
    "dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate y"
)
SERVICES = (
    "IRC X11 Z39_50 auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs "
    "exec finger ftp ftp_data gopher hostnames http http_443 imap4 iso_tsap klogin kshell ldap link login "
    "mtp name netbios_dgm netbios_ns netbios_ssn netstat nnsp nntp ntp_u other pm_dump pop_2 pop_3 "
    "printer private red_i remote_job rje shell smtp sql_net ssh sunrpc supdup systat telnet tftp_u tim_i "
    "time urh_i urp_i uucp uucp_path vmnet whois"
)
ATTACKS = (
    "back. buffer_overflow. ftp_write. guess_passwd. imap. ipsweep. land. loadmodule. multihop. neptune. nmap. "
    "normal. perl. phf. pod. portsweep. rootkit. satan. smurf. spy. teardrop. warezclient. warezmaster."
)

KDDCUP99 = Entry(
    name="kddcup99_10pct",
    about="network connections, normal or one of 22 attacks, in long runs; a tenth of the whole",
    sources=(
        DownloadSource(
            "https://ndownloader.figshare.com/files/5976042",
            "sha256:8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
        ),
    ),
    rows=494_021,
    features=41,
    task="classification",
    licence="CC BY 4.0",
    citation="S. Hettich, S. D. Bay: The UCI KDD archive: KDD Cup 1999 data. UC Irvine, 1999 (UCI 130)",
    verified="checksum",
    labels=tuple(ATTACKS.split()),
    names=tuple(COLUMNS.split()),
    codes={
        "protocol_type": ("icmp", "tcp", "udp"),
        "service": tuple(SERVICES.split()),
        "flag": ("OTH", "REJ", "RSTO", "RSTOS0", "RSTR", "S0", "S1", "S2", "S3", "SF", "SH"),
    },
    rows_sha256="75f4227101bf88a7259524f87fbdf1cb1f779b06e093c48b2f7c0ae4d3e88fad",
)
