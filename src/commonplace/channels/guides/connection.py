"""Errors of connections that every platform has."""

from typing import Final

from commonplace.values.platform import Bilingual, PlatformProblem

PROBLEMS: Final = (
    PlatformProblem(
        sign="Name or service not known",
        meaning=Bilingual(
            en="There is no machine of this name. Look at the address, and whether this machine reaches a name server.",
            zh="没有这个名称的机器。请检查地址，以及本机能否访问域名服务器。",
        ),
    ),
    PlatformProblem(
        sign="refused",
        meaning=Bilingual(
            en="Nobody listens at this address, or it does not accept what it was given. Look at the address, the port and the credentials.",
            zh="该地址无人监听，或不接受所给的凭证。请检查地址、端口和凭证。",
        ),
    ),
    PlatformProblem(
        sign="certificate",
        meaning=Bilingual(
            en="The certificate of the server is not trusted here. Let the daemon trust the authority that made it (`SSL_CERT_FILE`), or mend the certificate.",
            zh="本机不信任服务器的证书。请让守护进程信任签发机构（`SSL_CERT_FILE`），或修复证书。",
        ),
    ),
    PlatformProblem(
        sign="timed out",
        meaning=Bilingual(
            en="The platform did not answer in time. It is tried again by itself; if this goes on, look at the network and at proxies.",
            zh="平台没有及时回答。会自动重试；若持续出现，请检查网络和代理。",
        ),
    ),
    PlatformProblem(
        sign="closed the connection",
        meaning=Bilingual(
            en="The platform ended the connection, as it does now and then. It is opened again by itself.",
            zh="平台断开了连接，这时有发生。会自动重新连接。",
        ),
    ),
    PlatformProblem(
        sign="The secret",
        meaning=Bilingual(
            en="The daemon does not find the secret where the channel says. A variable has to be set before the daemon starts; a file has to be readable for it.",
            zh="守护进程在频道指定的位置找不到密钥。环境变量必须在守护进程启动前设置；文件必须可读。",
        ),
    ),
)
